"""What was changed on this host and has to be taken back, kept by a process that outlives whoever changed it.

The keeper reads how to take each change back from a pipe, one JSON list a line. When the pipe closes, since all is done
or because the writer was killed, it takes everything back, last change first. All steps may be repeated without harm.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import psutil

from tests.servers.process import wait_until

ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S, _TRIES = 10.0, 50


class Journal:
    """A context manager; changes are noted before they are made."""

    def __init__(self) -> None:
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "bench.faults.journal"],
            stdin=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,  # an interrupt from the keyboard is not for the keeper
            text=True,
        )

    def note(self, step: str, *words: str) -> None:
        """Note how a change is taken back: the name of one of ``STEPS`` and its words."""
        assert step in STEPS, f"{step} is none of {list(STEPS)}"
        assert self._keeper.stdin is not None, "the keeper has a pipe"
        self._keeper.stdin.write(json.dumps([step, *words]) + "\n")
        self._keeper.stdin.flush()

    def ends(self, pid: int) -> None:
        """Note a process that has to end."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self.note("end", str(pid), repr(psutil.Process(pid).create_time()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._keeper.stdin is not None, "the keeper has a pipe"
        self._keeper.stdin.close()
        self._keeper.wait(timeout=120)


def _end(pid: str, created_s: str) -> None:
    """End a process and its children, if it still is the one that was noted."""
    try:
        process = psutil.Process(int(pid))
        if process.create_time() != float(created_s):
            return
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for one in filter(_lives, family):
            with contextlib.suppress(psutil.NoSuchProcess):
                end(one)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not any(map(_lives, family)), _LIMIT_S, "it has ended")


def _lives(process: psutil.Process) -> bool:
    """Whether it does anything: whoever inherits orphans may take long to take note of their end."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _run(*command: str) -> None:
    subprocess.run(command, check=False, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).write_text(text)


def _remove(path: str) -> None:
    """Remove a folder with all that is in it."""
    shutil.rmtree(path, ignore_errors=True)


def _empty(group: str) -> None:
    """Remove a control group once its last process is gone, which is some time after the process was waited for."""
    for _ in range(_TRIES):
        try:
            Path(group).rmdir()
        except FileNotFoundError:
            return
        except OSError:
            members = [int(pid) for pid in (Path(group) / "cgroup.procs").read_text().split()]
            psutil.wait_procs([psutil.Process(pid) for pid in members if psutil.pid_exists(pid)], timeout=0.1)


STEPS: Mapping[str, Callable[..., None]] = {
    "end": _end,
    "run": _run,
    "write": _write,
    "remove": _remove,
    "empty": _empty,
}


def main() -> None:
    """Be the keeper."""
    noted = [json.loads(line) for line in sys.stdin if line.endswith("\n")]
    for step, *words in reversed(noted):
        STEPS[step](*words)


if __name__ == "__main__":
    main()
