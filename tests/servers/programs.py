"""The two programs of hostpulse itself, started as a user starts them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.servers.process import Server, launch

ROOT = Path(__file__).resolve().parents[2]


def start_exporter(folder: Path, *flags: str, prefix: Sequence[str] = (), ready: str | None = "/-/ready") -> Server:
    """The exporter on a free port. ``prefix`` is put before the command (``ip netns exec NAME``)."""
    return _start("exporter", folder, flags, prefix, ready)


def start_detector(folder: Path, *flags: str, prefix: Sequence[str] = (), ready: str | None = "/-/healthy") -> Server:
    """``hostpulse-detector run`` on a free port, without the terminal view; a source has to be among the flags."""
    return _start("detector", folder, ("--view=off", *flags), prefix, ready)


def _start(program: str, folder: Path, flags: Sequence[str], prefix: Sequence[str], ready: str | None) -> Server:
    verb = ["run"] if program == "detector" else []
    command = [*prefix, sys.executable, "-m", program, *verb, "--web.listen-address=127.0.0.1:0", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return launch(Server, program, command, folder, ready, environment)
