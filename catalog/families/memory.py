"""Memory families: stock by use, faults and reclaim, huge pages, NUMA nodes.

Formats: https://docs.kernel.org/filesystems/proc.html#meminfo, https://docs.kernel.org/admin-guide/numastat.html,
https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

_PAGE_BYTES = 4096  # of foreign samples that count pages; our own collectors ask the kernel
_KIB = 1024


def _meminfo(name: str, field: str, help_text: str, profile: Profile = Profile.CORE) -> Family:
    """A stock of memory, from /proc/meminfo."""
    foreign = field.replace("(", "_").replace(")", "")
    return Family(
        name,
        Kind.GAUGE,
        Unit.BYTES,
        help_text,
        Subsystem.MEMORY,
        profile=profile,
        source=f"/proc/meminfo {field}",
        aliases=(Alias(f"node_memory_{foreign}_bytes"),),
    )


TOTAL_BYTES = _meminfo("hostpulse_memory_total_bytes", "MemTotal", "Memory that the kernel manages.")
FREE_BYTES = _meminfo("hostpulse_memory_free_bytes", "MemFree", "Memory that nobody uses, not even the page cache.")
AVAILABLE_BYTES = _meminfo(
    "hostpulse_memory_available_bytes", "MemAvailable", "Memory that programs can get without swapping (estimate)."
)
CACHED_BYTES = _meminfo("hostpulse_memory_cached_bytes", "Cached", "Page cache, shared memory included.")
DIRTY_BYTES = _meminfo("hostpulse_memory_dirty_bytes", "Dirty", "Changed pages that wait to be written to disk.")
WRITEBACK_BYTES = _meminfo("hostpulse_memory_writeback_bytes", "Writeback", "Pages on their way to disk right now.")
ANON_BYTES = _meminfo("hostpulse_memory_anon_bytes", "AnonPages", "Memory of programs that no file backs.")
SHMEM_BYTES = _meminfo("hostpulse_memory_shmem_bytes", "Shmem", "Shared memory and tmpfs.")
MLOCKED_BYTES = _meminfo("hostpulse_memory_mlocked_bytes", "Mlocked", "Memory locked by mlock(2).")
SWAP_FREE_BYTES = _meminfo("hostpulse_memory_swap_free_bytes", "SwapFree", "Swap space that is free.")
HARDWARE_CORRUPTED_BYTES = _meminfo(
    "hostpulse_memory_hardware_corrupted_bytes", "HardwareCorrupted", "Memory taken out of use after hardware errors."
)
BUFFERS_BYTES = _meminfo(
    "hostpulse_memory_buffers_bytes", "Buffers", "Cache of raw block device contents.", Profile.STANDARD
)
ACTIVE_ANON_BYTES = _meminfo(
    "hostpulse_memory_active_anon_bytes", "Active(anon)", "Anonymous memory used lately.", Profile.STANDARD
)
INACTIVE_ANON_BYTES = _meminfo(
    "hostpulse_memory_inactive_anon_bytes", "Inactive(anon)", "Anonymous memory first to be swapped.", Profile.STANDARD
)
ACTIVE_FILE_BYTES = _meminfo(
    "hostpulse_memory_active_file_bytes", "Active(file)", "Page cache used lately.", Profile.STANDARD
)
INACTIVE_FILE_BYTES = _meminfo(
    "hostpulse_memory_inactive_file_bytes", "Inactive(file)", "Page cache first to be reclaimed.", Profile.STANDARD
)
UNEVICTABLE_BYTES = _meminfo(
    "hostpulse_memory_unevictable_bytes", "Unevictable", "Memory that cannot be reclaimed.", Profile.STANDARD
)
SWAP_TOTAL_BYTES = _meminfo("hostpulse_memory_swap_total_bytes", "SwapTotal", "Size of all swap.")
MAPPED_BYTES = _meminfo("hostpulse_memory_mapped_bytes", "Mapped", "Files mapped into programs.", Profile.STANDARD)
SLAB_RECLAIMABLE_BYTES = _meminfo(
    "hostpulse_memory_slab_reclaimable_bytes",
    "SReclaimable",
    "Kernel caches that can be given back, such as those of names and inodes.",
    Profile.STANDARD,
)
SLAB_UNRECLAIMABLE_BYTES = _meminfo(
    "hostpulse_memory_slab_unreclaimable_bytes",
    "SUnreclaim",
    "Kernel objects that cannot be given back; steady growth is a leak.",
    Profile.STANDARD,
)
KERNEL_STACK_BYTES = _meminfo(
    "hostpulse_memory_kernel_stack_bytes", "KernelStack", "Kernel stacks of all tasks.", Profile.STANDARD
)
PAGE_TABLES_BYTES = _meminfo("hostpulse_memory_page_tables_bytes", "PageTables", "Page tables.", Profile.STANDARD)
COMMITTED_BYTES = _meminfo(
    "hostpulse_memory_committed_bytes", "Committed_AS", "Memory promised to programs.", Profile.STANDARD
)
ANON_HUGEPAGES_BYTES = _meminfo(
    "hostpulse_memory_anon_hugepages_bytes", "AnonHugePages", "Anonymous memory in huge pages.", Profile.STANDARD
)
HUGETLB_BYTES = _meminfo("hostpulse_memory_hugetlb_bytes", "Hugetlb", "Memory set aside for huge pages of all sizes.")
SWAP_CACHED_BYTES = _meminfo(
    "hostpulse_memory_swap_cached_bytes",
    "SwapCached",
    "Memory that was swapped out and is back, its copy in swap still good.",
    Profile.FULL,
)
COMMIT_LIMIT_BYTES = _meminfo(
    "hostpulse_memory_commit_limit_bytes",
    "CommitLimit",
    "Memory that may be promised to programs where the kernel is told not to promise more than there is.",
    Profile.FULL,
)
VMALLOC_USED_BYTES = _meminfo(
    "hostpulse_memory_vmalloc_used_bytes",
    "VmallocUsed",
    "Memory that the kernel and its drivers mapped page by page.",
    Profile.FULL,
)
PERCPU_BYTES = _meminfo(
    "hostpulse_memory_percpu_bytes", "Percpu", "Memory of the kernel that each CPU has a copy of.", Profile.FULL
)
ZSWAPPED_BYTES = _meminfo(
    "hostpulse_memory_zswapped_bytes",
    "Zswapped",
    "Memory that lies compressed in memory instead of in swap.",
    Profile.FULL,
)


def _vmstat(
    name: str,
    fields: str | dict[str, str],
    help_text: str,
    profile: Profile = Profile.CORE,
    *,
    label: str = "",
    unit: Unit = Unit.COUNT,
    kind: Kind = Kind.COUNTER,
    factor: float = 1.0,
) -> Family:
    """An event counter of /proc/vmstat: one field, or one field for each value of ``label``."""
    if isinstance(fields, str):
        aliases: tuple[Alias, ...] = (Alias(f"node_vmstat_{fields}", factor),)
    else:
        aliases = tuple(Alias(f"node_vmstat_{field}", factor, adds={label: value}) for value, field in fields.items())
    labels = (label,) if label else ()
    source = "/proc/vmstat " + (fields if isinstance(fields, str) else ", ".join(fields.values()))
    return Family(name, kind, unit, help_text, Subsystem.MEMORY, labels, Tier.FAST, profile, source, aliases)


_RECLAIMERS = ("kswapd", "direct", "khugepaged", "proactive")
_ZONES = ("normal", "movable", "dma", "dma32", "device")

PAGE_FAULTS = _vmstat("hostpulse_memory_page_faults_total", "pgfault", "Page faults, minor and major.")
MAJOR_PAGE_FAULTS = _vmstat(
    "hostpulse_memory_major_page_faults_total", "pgmajfault", "Page faults that had to read from storage."
)
PAGED_IN_BYTES = _vmstat(
    "hostpulse_memory_paged_in_bytes_total",
    "pgpgin",
    "Bytes read from block devices, swap included.",
    unit=Unit.BYTES,
    factor=_KIB,
)
PAGED_OUT_BYTES = _vmstat(
    "hostpulse_memory_paged_out_bytes_total",
    "pgpgout",
    "Bytes written to block devices, swap included.",
    unit=Unit.BYTES,
    factor=_KIB,
)
SWAPPED_IN_PAGES = _vmstat("hostpulse_memory_swapped_in_pages_total", "pswpin", "Pages read from swap.")
SWAPPED_OUT_PAGES = _vmstat("hostpulse_memory_swapped_out_pages_total", "pswpout", "Pages written to swap.")
SCANNED_PAGES = _vmstat(
    "hostpulse_memory_scanned_pages_total",
    {source: f"pgscan_{source}" for source in _RECLAIMERS},
    "Pages looked at for reclaim, by who reclaims.",
    label="source",
)
RECLAIMED_PAGES = _vmstat(
    "hostpulse_memory_reclaimed_pages_total",
    {source: f"pgsteal_{source}" for source in _RECLAIMERS},
    "Pages reclaimed, by who reclaims; by pages scanned it is the yield.",
    label="source",
)
ALLOCATION_STALLS = _vmstat(
    "hostpulse_memory_allocation_stalls_total",
    {zone: f"allocstall_{zone}" for zone in _ZONES},
    "Allocations that had to reclaim memory themselves before they went on.",
    label="zone",
)
WORKINGSET_REFAULTS = _vmstat(
    "hostpulse_memory_workingset_refaults_total",
    {kind: f"workingset_refault_{kind}" for kind in ("file", "anon")},
    "Pages needed again soon after they were reclaimed: memory is too small for the working set.",
    label="type",
)
COMPACTION_STALLS = _vmstat(
    "hostpulse_memory_compaction_stalls_total",
    "compact_stall",
    "Allocations that had to wait while memory was compacted for a huge page.",
)
THP_FAULT_ALLOCATIONS = _vmstat(
    "hostpulse_memory_thp_fault_allocations_total", "thp_fault_alloc", "Page faults that got a huge page."
)
THP_FAULT_FALLBACKS = _vmstat(
    "hostpulse_memory_thp_fault_fallbacks_total",
    "thp_fault_fallback",
    "Page faults that wanted a huge page and got small ones.",
)
DIRTIED_PAGES = _vmstat("hostpulse_memory_dirtied_pages_total", "nr_dirtied", "Pages that became dirty.")
WRITTEN_PAGES = _vmstat("hostpulse_memory_written_pages_total", "nr_written", "Dirty pages written back.")
OOM_KILLS = _vmstat("hostpulse_memory_oom_kills_total", "oom_kill", "Processes killed because memory ran out.")
DIRECT_RECLAIM_THROTTLED = _vmstat(
    "hostpulse_memory_direct_reclaim_throttled_total",
    "pgscan_direct_throttle",
    "Allocations put to sleep because reclaim did not keep up.",
    Profile.STANDARD,
)
ACTIVATED_PAGES = _vmstat(
    "hostpulse_memory_activated_pages_total",
    "pgactivate",
    "Pages moved to the list of those in use.",
    Profile.STANDARD,
)
DEACTIVATED_PAGES = _vmstat(
    "hostpulse_memory_deactivated_pages_total",
    "pgdeactivate",
    "Pages moved to the list of those to reclaim first.",
    Profile.STANDARD,
)
WORKINGSET_ACTIVATIONS = _vmstat(
    "hostpulse_memory_workingset_activations_total",
    {kind: f"workingset_activate_{kind}" for kind in ("file", "anon")},
    "Pages that were needed again so soon that they count as in use.",
    Profile.STANDARD,
    label="type",
)
KSWAPD_WAKEUPS = _vmstat(
    "hostpulse_memory_kswapd_wakeups_total", "pageoutrun", "Rounds of background reclaim.", Profile.STANDARD
)
COMPACTION_FAILURES = _vmstat(
    "hostpulse_memory_compaction_failures_total",
    "compact_fail",
    "Compactions that did not free a large enough block.",
    Profile.STANDARD,
)
COMPACTION_SUCCESSES = _vmstat(
    "hostpulse_memory_compaction_successes_total",
    "compact_success",
    "Compactions that freed a large enough block.",
    Profile.STANDARD,
)
COMPACTION_SCANNED_PAGES = _vmstat(
    "hostpulse_memory_compaction_scanned_pages_total",
    {kind: f"compact_{kind}_scanned" for kind in ("migrate", "free")},
    "Pages that compaction looked at, to move or to fill.",
    Profile.STANDARD,
    label="type",
)
MIGRATED_PAGES = _vmstat(
    "hostpulse_memory_migrated_pages_total",
    {result: f"pgmigrate_{result}" for result in ("success", "fail")},
    "Pages moved within memory, for compaction or towards another node.",
    Profile.STANDARD,
    label="result",
)
THP_COLLAPSES = _vmstat(
    "hostpulse_memory_thp_collapses_total",
    "thp_collapse_alloc",
    "Huge pages made of small ones in the background.",
    Profile.STANDARD,
)
THP_SPLITS = _vmstat(
    "hostpulse_memory_thp_splits_total", "thp_split_page", "Huge pages split into small ones.", Profile.STANDARD
)
HUGETLB_ALLOCATION_FAILURES = _vmstat(
    "hostpulse_memory_hugetlb_allocation_failures_total",
    "htlb_buddy_alloc_fail",
    "Requests for more huge pages that failed.",
    Profile.STANDARD,
)
THROTTLED_WRITTEN_PAGES = _vmstat(
    "hostpulse_memory_throttled_written_pages_total",
    "nr_throttled_written",
    "Pages written back while reclaim waited for it.",
    Profile.STANDARD,
)
DIRTY_THRESHOLD_BYTES = _vmstat(
    "hostpulse_memory_dirty_threshold_bytes",
    "nr_dirty_threshold",
    "Amount of dirty memory above which writers have to wait.",
    Profile.STANDARD,
    kind=Kind.GAUGE,
    unit=Unit.BYTES,
    factor=_PAGE_BYTES,
)
DIRTY_BACKGROUND_THRESHOLD_BYTES = _vmstat(
    "hostpulse_memory_dirty_background_threshold_bytes",
    "nr_dirty_background_threshold",
    "Amount of dirty memory above which the kernel starts to write it.",
    Profile.STANDARD,
    kind=Kind.GAUGE,
    unit=Unit.BYTES,
    factor=_PAGE_BYTES,
)
NUMA_HINT_FAULTS = _vmstat(
    "hostpulse_memory_numa_hint_faults_total",
    {"all": "numa_hint_faults", "local": "numa_hint_faults_local"},
    "Page faults by which automatic NUMA balancing learns who uses a page; local ones are part of all.",
    Profile.STANDARD,
    label="locality",
)
NUMA_MIGRATED_PAGES = _vmstat(
    "hostpulse_memory_numa_migrated_pages_total",
    "numa_pages_migrated",
    "Pages moved by automatic NUMA balancing.",
    Profile.STANDARD,
)
PINNED_PAGES = _vmstat(
    "hostpulse_memory_pinned_pages_total",
    {event: f"nr_foll_pin_{event}" for event in ("acquired", "released")},
    "Pages pinned for direct device access, and given back; the difference is pinned now.",
    Profile.STANDARD,
    label="event",
)
PROMOTED_PAGES = _vmstat(
    "hostpulse_memory_promoted_pages_total",
    "pgpromote_success",
    "Pages moved to a faster tier of memory.",
    Profile.FULL,
)
DEMOTED_PAGES = _vmstat(
    "hostpulse_memory_demoted_pages_total",
    {source: f"pgdemote_{source}" for source in ("kswapd", "direct")},
    "Pages moved to a slower tier of memory instead of being reclaimed, by who reclaims.",
    Profile.FULL,
    label="source",
)
ZONE_RECLAIM_FAILURES = _vmstat(
    "hostpulse_memory_zone_reclaim_failures_total",
    "zone_reclaim_failed",
    "Allocations for which a full node was searched for pages to reclaim in vain.",
    Profile.FULL,
)


def _numastat(name: str, field: str, help_text: str) -> Family:
    """A page counter of one NUMA node."""
    source = f"/sys/devices/system/node/node*/numastat {field}"
    aliases = (Alias(f"node_memory_numa_{field}_total"),)
    return Family(
        name, Kind.COUNTER, Unit.COUNT, help_text, Subsystem.MEMORY, ("node",), source=source, aliases=aliases
    )


NUMA_HIT = _numastat("hostpulse_memory_numa_hit_total", "numa_hit", "Pages allocated on the node that was wanted.")
NUMA_MISS = _numastat(
    "hostpulse_memory_numa_miss_total", "numa_miss", "Pages allocated here because the node that was wanted was full."
)
NUMA_FOREIGN = _numastat(
    "hostpulse_memory_numa_foreign_total", "numa_foreign", "Pages wanted here and allocated on another node."
)
NUMA_INTERLEAVE = _numastat(
    "hostpulse_memory_numa_interleave_total", "interleave_hit", "Interleaved pages allocated where they were wanted."
)
NUMA_LOCAL = _numastat(
    "hostpulse_memory_numa_local_total", "local_node", "Pages allocated here for a task that ran on this node."
)
NUMA_OTHER = _numastat(
    "hostpulse_memory_numa_other_total", "other_node", "Pages allocated here for a task that ran on another node."
)


def _numa_meminfo(name: str, field: str, help_text: str, profile: Profile = Profile.STANDARD) -> Family:
    """A stock of memory of one NUMA node."""
    source, aliases = f"/sys/devices/system/node/node*/meminfo {field}", (Alias(f"node_memory_numa_{field}"),)
    labels = ("node",)
    return Family(
        name, Kind.GAUGE, Unit.BYTES, help_text, Subsystem.MEMORY, labels, Tier.MEDIUM, profile, source, aliases
    )


NUMA_FREE_BYTES = _numa_meminfo(
    "hostpulse_memory_numa_free_bytes", "MemFree", "Memory of the node that nobody uses.", Profile.CORE
)
NUMA_TOTAL_BYTES = _numa_meminfo("hostpulse_memory_numa_total_bytes", "MemTotal", "Memory of the node.")
NUMA_USED_BYTES = _numa_meminfo("hostpulse_memory_numa_used_bytes", "MemUsed", "Memory of the node that is in use.")
NUMA_FILE_BYTES = _numa_meminfo("hostpulse_memory_numa_file_bytes", "FilePages", "Page cache on the node.")
NUMA_ANON_BYTES = _numa_meminfo("hostpulse_memory_numa_anon_bytes", "AnonPages", "Anonymous memory on the node.")
NUMA_DIRTY_BYTES = _numa_meminfo("hostpulse_memory_numa_dirty_bytes", "Dirty", "Dirty pages on the node.")
NUMA_WRITEBACK_BYTES = _numa_meminfo(
    "hostpulse_memory_numa_writeback_bytes", "Writeback", "Pages of the node on their way to disk."
)
NUMA_SHMEM_BYTES = _numa_meminfo("hostpulse_memory_numa_shmem_bytes", "Shmem", "Shared memory on the node.")
HUGEPAGES = Family(
    "hostpulse_memory_hugepages",
    Kind.GAUGE,
    Unit.PAGES,
    "Huge pages in the pool of each NUMA node, by page size and state.",
    Subsystem.MEMORY,
    ("node", "size", "state"),
    Tier.MEDIUM,
    source="/sys/devices/system/node/node*/hugepages/hugepages-*kB/{nr,free,surplus}_hugepages",
    # /proc/meminfo knows one size only and adds the nodes up
    aliases=tuple(
        Alias(f"node_memory_HugePages_{foreign}", adds={"node": "all", "size": "default", "state": state})
        for foreign, state in (("Total", "total"), ("Free", "free"), ("Surp", "surplus"))
    ),
)
