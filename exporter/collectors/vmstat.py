"""Faults, reclaim, compaction, huge pages and write-back, from /proc/vmstat.

https://docs.kernel.org/admin-guide/mm/transhuge.html#monitoring-usage says what the thp fields count; the others are
named after events in https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/vmstat.c
"""

from __future__ import annotations

from catalog.families import memory
from catalog.family import Tier
from exporter.collector import Context, FileCollector, families_of
from exporter.parsing import KeyedWords

_BYTES_PER_KIB = 1024.0
_MAJOR_FAULTS = b"\npgmajfault "
_FIELDS = {
    b"nr_dirtied": memory.DIRTIED_PAGES(),
    b"nr_written": memory.WRITTEN_PAGES(),
    b"nr_throttled_written": memory.THROTTLED_WRITTEN_PAGES(),
    b"nr_foll_pin_acquired": memory.PINNED_PAGES("acquired"),
    b"nr_foll_pin_released": memory.PINNED_PAGES("released"),
    b"nr_dirty_threshold": memory.DIRTY_THRESHOLD_BYTES(),
    b"nr_dirty_background_threshold": memory.DIRTY_BACKGROUND_THRESHOLD_BYTES(),
    b"workingset_refault_file": memory.WORKINGSET_REFAULTS("file"),
    b"workingset_refault_anon": memory.WORKINGSET_REFAULTS("anon"),
    b"workingset_activate_file": memory.WORKINGSET_ACTIVATIONS("file"),
    b"workingset_activate_anon": memory.WORKINGSET_ACTIVATIONS("anon"),
    b"pgpgin": memory.PAGED_IN_BYTES(),
    b"pgpgout": memory.PAGED_OUT_BYTES(),
    b"pswpin": memory.SWAPPED_IN_PAGES(),
    b"pswpout": memory.SWAPPED_OUT_PAGES(),
    b"allocstall_normal": memory.ALLOCATION_STALLS("normal"),
    b"allocstall_movable": memory.ALLOCATION_STALLS("movable"),
    b"allocstall_dma": memory.ALLOCATION_STALLS("dma"),
    b"allocstall_dma32": memory.ALLOCATION_STALLS("dma32"),
    b"allocstall_device": memory.ALLOCATION_STALLS("device"),
    b"pgactivate": memory.ACTIVATED_PAGES(),
    b"pgdeactivate": memory.DEACTIVATED_PAGES(),
    b"pgfault": memory.PAGE_FAULTS(),
    b"pgmajfault": memory.MAJOR_PAGE_FAULTS(),
    b"pgsteal_kswapd": memory.RECLAIMED_PAGES("kswapd"),
    b"pgsteal_direct": memory.RECLAIMED_PAGES("direct"),
    b"pgsteal_khugepaged": memory.RECLAIMED_PAGES("khugepaged"),
    b"pgsteal_proactive": memory.RECLAIMED_PAGES("proactive"),
    b"pgscan_kswapd": memory.SCANNED_PAGES("kswapd"),
    b"pgscan_direct": memory.SCANNED_PAGES("direct"),
    b"pgscan_khugepaged": memory.SCANNED_PAGES("khugepaged"),
    b"pgscan_proactive": memory.SCANNED_PAGES("proactive"),
    b"pgscan_direct_throttle": memory.DIRECT_RECLAIM_THROTTLED(),
    b"pageoutrun": memory.KSWAPD_WAKEUPS(),
    b"oom_kill": memory.OOM_KILLS(),
    b"numa_hint_faults": memory.NUMA_HINT_FAULTS("all"),
    b"numa_hint_faults_local": memory.NUMA_HINT_FAULTS("local"),
    b"numa_pages_migrated": memory.NUMA_MIGRATED_PAGES(),
    b"pgmigrate_success": memory.MIGRATED_PAGES("success"),
    b"pgmigrate_fail": memory.MIGRATED_PAGES("fail"),
    b"compact_migrate_scanned": memory.COMPACTION_SCANNED_PAGES("migrate"),
    b"compact_free_scanned": memory.COMPACTION_SCANNED_PAGES("free"),
    b"compact_stall": memory.COMPACTION_STALLS(),
    b"compact_fail": memory.COMPACTION_FAILURES(),
    b"compact_success": memory.COMPACTION_SUCCESSES(),
    b"htlb_buddy_alloc_fail": memory.HUGETLB_ALLOCATION_FAILURES(),
    b"thp_fault_alloc": memory.THP_FAULT_ALLOCATIONS(),
    b"thp_fault_fallback": memory.THP_FAULT_FALLBACKS(),
    b"thp_collapse_alloc": memory.THP_COLLAPSES(),
    b"thp_split_page": memory.THP_SPLITS(),
    b"pgpromote_success": memory.PROMOTED_PAGES(),
    b"pgdemote_kswapd": memory.DEMOTED_PAGES("kswapd"),
    b"pgdemote_direct": memory.DEMOTED_PAGES("direct"),
    b"zone_reclaim_failed": memory.ZONE_RECLAIM_FAILURES(),
}


class VmstatCollector(FileCollector):
    """Fields in the order of the table."""

    name = "vmstat"
    tier = Tier.FAST
    families = families_of(_FIELDS.values())
    path = "/proc/vmstat"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        factors = {
            b"pgpgin": _BYTES_PER_KIB,
            b"pgpgout": _BYTES_PER_KIB,
            b"nr_dirty_threshold": float(context.host.page_bytes),
            b"nr_dirty_background_threshold": float(context.host.page_bytes),
        }
        self._words = KeyedWords(context.wanted(_FIELDS), self.path, factors)
        super().__init__(context)

    @staticmethod
    def glance(data: bytes) -> tuple[float]:
        """Faults that had to wait for a disk."""
        at = data.index(_MAJOR_FAULTS) + len(_MAJOR_FAULTS)
        return (float(data[at : data.index(b"\n", at)]),)

    def parse(self, data: bytes) -> list[float]:
        """Counts, and bytes for what the kernel counts in KiB or pages."""
        values = self._words(data)
        self.series = self._words.series
        return values
