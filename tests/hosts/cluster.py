"""Machines as trees of files below a folder: written once, and then as time passes."""

from __future__ import annotations

import os
from pathlib import Path

from exporter.host import Host
from tests.hosts import procfs, sysfs, written
from tests.hosts.machines import Machine

_BOOT = "/proc/sys/kernel/random/boot_id"


class Tree:
    """The tree of a machine. ``advance`` writes what has changed over what was there, as the kernel's files change.

    ``is_here`` gives it the boot of the machine that it is on, so that the exporter asks what GPUs that one has.
    """

    def __init__(self, machine: Machine, folder: Path, *, is_here: bool = False) -> None:
        self.machine, self.folder = machine, folder
        self._step = 0
        self._texts = self._now()
        written(folder, self._texts)
        if is_here:
            written(folder, {_BOOT: Host().read(_BOOT)})
        for path, target in sysfs.links(machine).items():
            place, lead = self.place(path), self.place(target)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(os.path.relpath(lead, place.parent.resolve()))

    def _now(self) -> dict[str, str]:
        return {**procfs.files(self.machine, self._step), **sysfs.files(self.machine, self._step)}

    def place(self, path: str) -> Path:
        """Where a path of the host is."""
        return self.folder / path.removeprefix("/")

    def text(self, path: str) -> str:
        """What a file says."""
        return self.place(path).read_text()

    def number(self, path: str) -> int:
        """The number that a file holds."""
        return int(self.text(path))

    @property
    def host(self) -> Host:
        """The host of these files, with the machine's size of pages."""
        folder = self.folder
        return Host(folder / "proc", folder / "sys", folder, page_bytes=self.machine.page_bytes)

    @property
    def flags(self) -> tuple[str, ...]:
        """What points the exporter at it."""
        roots = {"procfs": self.folder / "proc", "sysfs": self.folder / "sys", "rootfs": self.folder}
        paths = (f"--path.{name}={root}" for name, root in roots.items())
        return *paths, "--collector.disable=perf,perfcache,perfclock"  # their system calls ask the running machine

    def advance(self, steps: int = 1) -> None:
        """Let so many times 100 ms pass."""
        self._step += steps
        now = self._now()
        for path, text in now.items():
            if text != self._texts[path]:
                assert len(text) >= len(self._texts[path]), f"{path}: a reader might see the end of what was there"
                with self.place(path).open("r+") as file:
                    file.write(text)
        self._texts = now
