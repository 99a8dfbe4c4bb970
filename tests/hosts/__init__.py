"""Hosts for tests: a captured virtual machine, and small trees written by a test in the kernel's formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from catalog.family import Profile
from exporter.capture import replay
from exporter.collector import Context
from exporter.host import Host

VM = Path(__file__).with_name("vm-2cpu.capture")


def captured_vm(folder: Path) -> Host:
    """A virtual machine with 2 CPUs, one disk and one network card, unpacked below an empty folder."""
    return replay(VM.read_text(encoding="utf-8"), folder)


def written(folder: Path, files: Mapping[str, str | bytes]) -> Host:
    """A host of these files, by their path on the host; files that are there are written over in place."""
    for path, contents in files.items():
        place = folder / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return Host(folder / "proc", folder / "sys", folder, page_bytes=4096)


def context(host: Host, profile: Profile = Profile.FULL) -> Context:
    """What a collector of that host is built with."""
    return Context(host, profile)
