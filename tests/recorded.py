"""Where recorded hosts and labelled telemetry of others lie: no part of the project, without which tests skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tree import ROOT

VARIABLE = "HOSTPULSE_DATA"
DATA = Path(os.environ.get(VARIABLE) or ROOT.parent / "shared" / "data")


def recorded(name: str) -> Path:
    """A file below that folder; skips the test where there is none."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there; {VARIABLE} may name another folder")
    return path
