"""How faults are put in: by a stressor, a resident program, a rule for packets, or a write to a file of the kernel.

An injection is prepared before the baseline, so that only the fault itself is new when it is switched on.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from bench.faults.groups import Limits, make
from bench.faults.journal import Journal
from bench.faults.link import Link
from bench.faults.resident import Resident
from deploy.debian import UnavailableError
from tests.servers import binary, environment
from tests.servers.namespace import run

_STOP_LIMIT_S = 30.0
STRESS_LIMIT_S = 600  # so long after its begin a stressor ends by itself, whatever became of who started it


@dataclass(frozen=True)
class Place:
    """Where faults are put in. ``folder`` is on a disk, ``shm`` a small filesystem in memory that the exporter sees as
    ``/dev/shm``."""

    journal: Journal
    stack: contextlib.ExitStack
    folder: Path
    shm: Path
    link: Link


class Switch(Protocol):
    """A prepared fault."""

    @property
    def on(self) -> Callable[[], object]:
        """Put it in."""

    @property
    def off(self) -> Callable[[], object]:
        """Take it out, and return once it is out."""


class Injection(Protocol):
    """A way to put a fault in. ``tool`` is what a control tells apart from the fault."""

    @property
    def tool(self) -> str:
        """Which of the controls belongs to it."""

    def prepare(self, place: Place) -> Switch:
        """Set up what has to be there before the baseline."""


@dataclass
class Pair:
    """A switch of two functions."""

    on: Callable[[], object]
    off: Callable[[], object]


@dataclass(frozen=True)
class Stress:
    """``stress-ng`` with these arguments; ``{folder}`` stands for a folder on disk."""

    arguments: tuple[str, ...]
    tool = "stress-ng"

    def prepare(self, place: Place) -> Switch:
        """See ``Injection``."""
        words = [argument.format(folder=place.folder) for argument in self.arguments]
        return _Stressor([str(binary("stress-ng")), *words, "--timeout", str(STRESS_LIMIT_S)], place.journal)


class _Stressor:
    def __init__(self, command: list[str], journal: Journal) -> None:
        self._command, self._journal = command, journal
        self._process: subprocess.Popen[bytes] | None = None

    def on(self) -> None:
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command, env=environment(), stdout=silent, stderr=silent, start_new_session=True
        )
        self._journal.ends(self._process.pid)

    def off(self) -> None:
        assert self._process is not None, "on comes before off"
        status = self._process.poll()
        self._process.terminate()
        self._process.wait(timeout=_STOP_LIMIT_S)
        assert status is None, f"{' '.join(self._command)} ended by itself with {status}"


@dataclass(frozen=True)
class Switched:
    """A resident program, in a control group of its own where limits are given, on disk or in memory."""

    work: str
    limits: Limits | None = None
    in_memory: bool = False
    tool = "resident"

    def prepare(self, place: Place) -> Switch:
        """See ``Injection``."""
        name = f"hostpulse-{self.work}-{os.getpid()}"
        group = make(place.journal, name, self.limits) if self.limits is not None else None
        folder = place.shm if self.in_memory else place.folder / self.work
        return place.stack.enter_context(Resident(place.journal, self.work, folder, group))


@dataclass(frozen=True)
class Swapping(Switched):
    """A resident program that wants more memory than its group may keep, with a file to swap to on the disk."""

    swap_mb: int = 512

    def prepare(self, place: Place) -> Switch:
        """See ``Injection``."""
        file = place.folder / "swapped-to"
        place.journal.note("run", "swapoff", str(file))
        run("dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={self.swap_mb}")
        file.chmod(0o600)
        run("mkswap", file)
        run("swapon", file)
        return super().prepare(place)


@dataclass(frozen=True)
class Dropped:
    """TCP packets that arrive at the far end and match are dropped; https://wiki.nftables.org/."""

    match: str
    tool = "packets"

    def prepare(self, place: Place) -> Switch:
        """See ``Injection``."""
        nft = binary("nft")
        rule = (
            "add table inet faults; add chain inet faults input { type filter hook input priority 0; }; "
            f"add rule inet faults input meta l4proto tcp {self.match} counter drop"
        )
        inside = place.link.far.run
        return Pair(partial(inside, nft, rule), partial(inside, nft, "delete table inet faults"))


@dataclass(frozen=True)
class HugePages:
    """So many more huge pages of a size are set aside. What writes them is part of the bench."""

    pages: int
    size_kb: int = 2048
    tool = "resident"

    @property
    def file(self) -> Path:
        """Where the kernel is told how many there are to be."""
        return Path(f"/sys/kernel/mm/hugepages/hugepages-{self.size_kb}kB/nr_hugepages")

    def prepare(self, place: Place) -> Switch:
        """See ``Injection``."""
        if not self.file.exists():
            raise UnavailableError(f"this host has no huge pages of {self.size_kb} kB")
        before = self.file.read_text().strip()
        place.journal.note("write", str(self.file), before)

        def on() -> None:
            self.file.write_text(str(int(before) + self.pages))
            got = int(self.file.read_text()) - int(before)
            assert got > 0, "not one huge page could be set aside: free memory is in too small pieces"

        return Pair(on, lambda: self.file.write_text(before))
