"""Families of memory by the size of its pieces: free blocks, transparent huge pages.

Formats: https://docs.kernel.org/filesystems/proc.html#kernel-data (buddyinfo),
https://docs.kernel.org/admin-guide/mm/transhuge.html#monitoring-usage
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

FREE_BLOCKS = Family(
    "hostpulse_memory_free_blocks",
    Kind.GAUGE,
    Unit.COUNT,
    "Free blocks of 2^order pages; few of high order while memory is free is fragmentation.",
    Subsystem.MEMORY,
    ("node", "zone", "order"),
    Tier.SLOW,
    Profile.FULL,
    "/proc/buddyinfo",
    (Alias("node_buddyinfo_blocks", renames={"order": "size"}),),
)


def _thp(name: str, file: str, help_text: str, kind: Kind = Kind.COUNTER) -> Family:
    """What is told of transparent huge pages of each size."""
    return Family(
        f"hostpulse_memory_thp_size_{name}",
        kind,
        Unit.COUNT,
        help_text,
        Subsystem.MEMORY,
        ("size",),
        Tier.SLOW,
        Profile.FULL,
        f"/sys/kernel/mm/transparent_hugepage/hugepages-*kB/stats/{file}",
    )


THP_SIZE_FAULT_ALLOCATIONS = _thp(
    "fault_allocations_total", "anon_fault_alloc", "Page faults that got a huge page of this size."
)
THP_SIZE_FAULT_FALLBACKS = _thp(
    "fault_fallbacks_total",
    "anon_fault_fallback",
    "Page faults that wanted a huge page of this size and got a smaller one.",
)
THP_SIZE_SPLITS = _thp("splits_total", "split", "Huge pages of this size split into smaller ones.")
THP_SIZE_ANON_PAGES = _thp("anon_pages", "nr_anon", "Huge pages of this size in use by programs.", Kind.GAUGE)
