"""A program that is there from before the baseline, and does its work between two signals.

    python -m bench.faults.resident WORK FOLDER

SIGUSR1 switches on, SIGUSR2 off; each is answered by a word on standard output. It ends by SIGTERM, or when whoever
started it is gone (https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2const.html).
"""

from __future__ import annotations

import ctypes
import select
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Self

from bench.faults.groups import Group
from bench.faults.journal import ROOT, Journal
from bench.faults.works import WORKS

ON, OFF = "on", "off"
_PR_SET_PDEATHSIG = 1
_ANSWER_LIMIT_S, _END_LIMIT_S = 60.0, 30.0


class Resident:
    """One such program. A context manager."""

    def __init__(self, journal: Journal, work: str, folder: Path, group: Group | None = None) -> None:
        assert work in WORKS, f"{work} is none of {list(WORKS)}"
        self.work = work
        folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.faults.resident", work, str(folder)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        journal.ends(self._process.pid)
        self._group = group
        if group is not None:
            group.add(self._process.pid)
        self._ready = False

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def on(self) -> None:
        """Begin its work."""
        if not self._ready:  # many are started at once
            self._await(OFF)
            self._ready = True
        self._process.send_signal(signal.SIGUSR1)
        self._await(ON)

    def off(self) -> None:
        """End its work, and return once that has ended."""
        self._process.send_signal(signal.SIGUSR2)
        self._await(OFF)

    def _await(self, word: str) -> None:
        assert self._process.stdout is not None, "its output is a pipe"
        ready, _, _ = select.select([self._process.stdout], [], [], _ANSWER_LIMIT_S)
        said = self._process.stdout.readline().strip() if ready else "nothing"
        assert said == word, f"resident {self.work} should say {word} and said {said!r}, status {self._process.poll()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._group is not None:
            self._group.leave(self._process.pid)
        self._process.terminate()
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_END_LIMIT_S)
        assert self._process.stdout is not None, "its output is a pipe"
        self._process.stdout.close()


def main() -> None:
    """Wait for signals and do as they say."""
    work, folder = WORKS[sys.argv[1]], Path(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the keyboard is for whoever started this
    wanted = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    off, worker = Event(), None
    _say(OFF)
    while (told := signal.sigwait(wanted)) is not signal.SIGTERM:
        if told is signal.SIGUSR1 and worker is None:
            off.clear()
            worker = Thread(target=work, args=(folder, off))
            worker.start()
        elif told is signal.SIGUSR2 and worker is not None:
            off.set()
            worker.join()
            worker = None
        _say(OFF if worker is None else ON)
    off.set()
    if worker is not None:
        worker.join()


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
