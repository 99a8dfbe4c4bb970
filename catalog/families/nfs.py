"""Storage families of NFS mounts, as their clients see them.

Formats: https://man7.org/linux/man-pages/man8/mountstats.8.html; the lines are written by nfs_show_stats in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/fs/nfs/super.c
"""

from __future__ import annotations

from catalog.family import Family, Kind, Profile, Subsystem, Tier, Unit


def _nfs(name: str, unit: Unit, help_text: str, labels: tuple[str, ...], what: str) -> Family:
    source = f"/proc/1/mountstats {what}"
    return Family(name, Kind.COUNTER, unit, help_text, Subsystem.STORAGE, labels, Tier.MEDIUM, Profile.STANDARD, source)


NFS_OPERATIONS = _nfs(
    "hostpulse_storage_nfs_operations_total",
    Unit.COUNT,
    "Requests to the server that were answered, by operation.",
    ("mountpoint", "op"),
    "per-op statistics, operations",
)
NFS_OPERATION_SECONDS = _nfs(
    "hostpulse_storage_nfs_operation_seconds_total",
    Unit.SECONDS,
    "Time that all requests took together from their start to their end, waiting in the client's queue included.",
    ("mountpoint", "op"),
    "per-op statistics, total execution time",
)
NFS_RETRANSMITS = _nfs(
    "hostpulse_storage_nfs_retransmits_total",
    Unit.COUNT,
    "Times that a request was sent again because no answer came: the server or the network is overloaded.",
    ("mountpoint", "op"),
    "per-op statistics, transmissions less operations",
)
NFS_BYTES = _nfs(
    "hostpulse_storage_nfs_bytes_total",
    Unit.BYTES,
    "Bytes that programs read and wrote, with and without the page cache; mapped files left out.",
    ("mountpoint", "direction"),
    "bytes",
)
