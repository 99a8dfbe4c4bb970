"""A page of the docs whose commands are carried out as a reader would, on ports that are free."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.servers import wait_until
from tests.tree import ROOT

_PORTS = ("17720", "17721")


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code in a language; a pattern of several is allowed."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return [text for spoken, text in found if re.fullmatch(language, spoken)]


def carry_out(script: str, folder: Path, limit_s: float) -> str:
    """What a script of the shell says that ends well in a folder, where the programs are in ``.venv``."""
    for port in _PORTS:
        script = script.replace(f":{port}", f":{_free_port()}")
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            stdout=stream,
            stderr=stream,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        try:
            wait_until(lambda: process.poll() is not None, limit_s, log.read_text)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # what the script left behind
            process.wait(10)
    said = log.read_text()
    assert process.returncode == 0, said
    return said


def _free_port() -> int:
    """One that the kernel gave out and has back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
