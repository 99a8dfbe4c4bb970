"""The stand-in for NVIDIA's library, built once and loaded into this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.nvml import SESSION
from tests.nvml import Stub, build


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the stand-in is in."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def stub(tmp_path: Path, library: Path) -> Iterator[Stub]:
    """What the stand-in says; nothing of earlier tests is known."""
    stub = Stub(tmp_path)
    stub.load(library)
    SESSION.devices = ()
    yield stub
    stub.clear()
