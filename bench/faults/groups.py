"""Control groups that limit what is put into them, in either version of the interface.

https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/scheduler/sched-bwc.html and
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html. They are made at the top level, where the exporter looks.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from bench.faults.journal import Journal
from deploy.debian import UnavailableError

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class Group:
    """A group's folders: one of version 2, or one for each controller of version 1."""

    folders: tuple[Path, ...]

    def add(self, pid: int) -> None:
        """Put a process in."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def leave(self, pid: int) -> None:
        """Take a process out: one that gets a tenth of a CPU may take very long to end."""
        with contextlib.suppress(ProcessLookupError):
            for folder in self.folders:
                (folder.parent / "cgroup.procs").write_text(str(pid))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a group may take; None is no limit. What it may not keep in memory goes to swap only if it ``may_swap``."""

    cpu_cores: float | None = None
    memory_bytes: int | None = None
    may_swap: bool = False

    def files(self, *, unified: bool) -> dict[str, str]:
        """File of a group, after its controller and a slash, and what is written to it.

        >>> Limits(0.5).files(unified=True), Limits(memory_bytes=4096, may_swap=True).files(unified=False)
        ({'cpu/cpu.max': '50000 100000'}, {'memory/memory.limit_in_bytes': '4096'})
        """
        files: dict[str, str] = {}
        if self.cpu_cores is not None:
            quota_us = round(self.cpu_cores * _PERIOD_US)
            files |= {"cpu/cpu.max": f"{quota_us} {_PERIOD_US}"} if unified else {"cpu/cpu.cfs_quota_us": str(quota_us)}
        if self.memory_bytes is not None:
            files[f"memory/memory.{'max' if unified else 'limit_in_bytes'}"] = str(self.memory_bytes)
            if not self.may_swap:
                files |= {"memory/memory.swap.max": "0"} if unified else {"memory/memory.swappiness": "0"}
        return files


def make(journal: Journal, name: str, limits: Limits) -> Group:
    """A group with these limits, removed with the journal. Raises UnavailableError where none can be made."""
    try:
        return _made(journal, name, limits)
    except OSError as error:
        raise UnavailableError(f"no control group {name}: {error}") from error


def _made(journal: Journal, name: str, limits: Limits) -> Group:
    unified = (_ROOT / "cgroup.controllers").exists()
    folders: list[Path] = []
    for file, text in limits.files(unified=unified).items():
        controller, _, key = file.partition("/")
        folder = _ROOT / name if unified else _ROOT / controller / name
        if unified:
            (_ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
        if folder not in folders:
            journal.note("empty", str(folder))
            folder.mkdir()
            folders.append(folder)
        (folder / key).write_text(text)
    assert folders, f"{name}: a group without a limit limits nothing"
    return Group(tuple(folders))
