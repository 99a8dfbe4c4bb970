"""What NFS mounts ask of their servers and how long that takes, from /proc/PID/mountstats.

https://man7.org/linux/man-pages/man8/mountstats.8.html; the lines are written by nfs_show_stats in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/fs/nfs/super.c and by rpc_clnt_show_stats in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/sunrpc/stats.c
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from catalog.devices import wanted_mountpoint
from catalog.families import nfs
from catalog.family import Family, Tier
from exporter.collector import Context, PartedCollector, or_unavailable
from exporter.parsing import numbers, plausible, unescaped

_STATS = "/proc/1/mountstats"
_OWN_STATS = "/proc/self/mountstats"  # for those who may not look at process 1
_MOUNT = re.compile(rb"(?:no device|device .*) mounted on (\S+) with fstype (\S+)(?: statvers=\S+)? ?")
_OPERATION = re.compile(rb"\t +([A-Z0-9_]+): (.+)")
_BYTES = b"\tbytes:\t"
_FSTYPES = frozenset((b"nfs", b"nfs4"))
# Those that data pass by, and those that many small files cost.
_TOLD = frozenset((b"READ", b"WRITE", b"COMMIT", b"GETATTR", b"LOOKUP", b"OPEN"))
_OPS_AT, _TRANSMISSIONS_AT, _EXECUTION_MS_AT = 0, 1, 7
_WIDTHS = (8, 9)  # numbers of an operation before Linux 5.3 and since, the same for all
_BYTES_WIDTH = 8
_MILLISECOND = 0.001

Cell = tuple[Family, str, str]


def _mounts(data: bytes) -> dict[str, list[bytes]]:
    """The lines of each NFS mount; what is mounted over another one hides it."""
    found: dict[str, list[bytes]] = {}
    lines: list[bytes] = []
    for line in filter(None, data.split(b"\n")):
        if line.startswith(b"\t"):
            lines.append(line)
            continue
        told = _MOUNT.fullmatch(line)
        if told is None:
            raise ValueError(f"{_STATS}: {line[:40]!r} is not of the format that it should be")
        lines = []
        mountpoint = unescaped(os.fsdecode(told[1]))
        found.pop(mountpoint, None)
        if told[2] in _FSTYPES and wanted_mountpoint(mountpoint):
            found[mountpoint] = lines
    return found


def _once(rows: list[tuple[bytes, list[bytes]]], widths: tuple[int, ...], what: str) -> dict[bytes, list[float]]:
    """Rows by name; ValueError where one is there twice, or not as wide as all."""
    found = {name: numbers(words, _STATS) for name, words in rows}
    seen = {len(words) for _, words in rows}
    if len(found) != len(rows) or len(seen) > 1 or not seen.issubset(widths):
        raise ValueError(f"{_STATS}: its lines of {what} are not as they should be")
    return found


def _cells(mountpoint: str, lines: list[bytes]) -> Iterator[tuple[Cell, float]]:
    rows = [(told[1], told[2].split()) for told in map(_OPERATION.fullmatch, lines) if told]
    for name, told in _once(rows, _WIDTHS, "operations").items():
        if name in _TOLD:
            operation = name.decode()
            yield (nfs.NFS_OPERATIONS, mountpoint, operation), told[_OPS_AT]
            yield (nfs.NFS_OPERATION_SECONDS, mountpoint, operation), told[_EXECUTION_MS_AT] * _MILLISECOND
            yield (nfs.NFS_RETRANSMITS, mountpoint, operation), told[_TRANSMISSIONS_AT] - told[_OPS_AT]
    rows = [(_BYTES, line.removeprefix(_BYTES).split()) for line in lines if line.startswith(_BYTES)]
    for read, written, read_directly, written_directly, *_ in _once(rows, (_BYTES_WIDTH,), "bytes").values():
        yield (nfs.NFS_BYTES, mountpoint, "read"), read + read_directly
        yield (nfs.NFS_BYTES, mountpoint, "write"), written + written_directly


class NfsCollector(PartedCollector):
    """The mounts of the host; there may be none now and some later."""

    name = "nfs"
    tier = Tier.MEDIUM
    families = (nfs.NFS_OPERATIONS, nfs.NFS_OPERATION_SECONDS, nfs.NFS_RETRANSMITS, nfs.NFS_BYTES)
    sources = (_STATS, _OWN_STATS)

    def __init__(self, context: Context) -> None:
        self.series = ()
        self._layout: list[Cell] = []
        with or_unavailable():
            self._file = context.host.hold_mounts(*self.sources)
            self.parse(self._file.read())

    def take(self) -> bytes:
        """The contents of the file."""
        return self._file.read()

    def parse(self, taken: bytes) -> list[float]:
        """Requests, seconds and bytes of each mount."""
        cells = dict(cell for mountpoint, lines in _mounts(taken).items() for cell in _cells(mountpoint, lines))
        layout = list(cells)
        if layout != self._layout:
            self._layout = layout
            self.series = tuple(family(mountpoint, what) for family, mountpoint, what in layout)
        return plausible(list(cells.values()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
