"""What a fresh interpreter has imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.tree import ROOT

HEAVY = ("sklearn", "scipy", "joblib", "pandas", "pyarrow")


def imported_by(
    program: str, names: Sequence[str] = HEAVY, arguments: Sequence[str] = (), folder: Path = ROOT
) -> list[str]:
    """Those of the names that are there once a program has run, with these arguments and in this folder."""
    end = f"\nimport sys; print(*(name for name in {tuple(names)!r} if name in sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", program + end, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stderr.split()
