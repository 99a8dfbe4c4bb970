"""A stand-in for NVIDIA's management library, whose answers tests change while it runs."""

from __future__ import annotations

from tests.nvml.stub import Stub, build

__all__ = ["Stub", "build"]
