"""Memory signals. Stock gauges drift with every file read: they enter as change, or as distance to a limit."""

from __future__ import annotations

from functools import partial

from catalog.expression import at_least, level, minus, plus, rate, ratio, slope, total
from catalog.families import host, memory, memoryerrors
from catalog.family import Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.MEMORY, role=Role.UTILISATION, worse=Worse.EITHER)
_saturation = partial(Signal, subsystem=Subsystem.MEMORY, role=Role.SATURATION)
_state = partial(Signal, subsystem=Subsystem.MEMORY, role=Role.STATE)
_error = partial(Signal, subsystem=Subsystem.MEMORY, role=Role.ERROR)

_MEGABYTE = 1e6

SIGNALS: tuple[Signal, ...] = (
    _state(
        "memory_available_ratio",
        "Share of memory that programs could still get.",
        ratio(level(memory.AVAILABLE_BYTES), level(memory.TOTAL_BYTES)),
        "ratio",
        floor=0.05,
        worse=Worse.LOWER,
        scale=Scale.LINEAR,
    ),
    _state(
        "memory_anon_ratio",
        "Share of memory that programs' own pages take.",
        ratio(level(memory.ANON_BYTES), level(memory.TOTAL_BYTES)),
        "ratio",
        floor=0.05,
        worse=Worse.EITHER,
        scale=Scale.LINEAR,
    ),
    _state(
        "memory_mlocked_ratio",
        "Share of memory that is locked.",
        ratio(level(memory.MLOCKED_BYTES), level(memory.TOTAL_BYTES)),
        "ratio",
        floor=0.05,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "memory_anon_change_bytes_per_second",
        "Growth of programs' own pages.",
        slope(memory.ANON_BYTES),
        "B/s",
        floor=50 * _MEGABYTE,
    ),
    _utilisation(
        "memory_cached_change_bytes_per_second",
        "Growth of the page cache.",
        slope(memory.CACHED_BYTES),
        "B/s",
        floor=50 * _MEGABYTE,
    ),
    _utilisation(
        "memory_shmem_change_bytes_per_second",
        "Growth of shared memory and tmpfs.",
        slope(memory.SHMEM_BYTES),
        "B/s",
        floor=50 * _MEGABYTE,
    ),
    _utilisation(
        "memory_page_faults_per_second",
        "Page faults of all kinds.",
        rate(memory.PAGE_FAULTS),
        "1/s",
        floor=3000.0,
    ),
    _saturation(
        "memory_major_page_faults_per_second",
        "Page faults that had to wait for storage.",
        rate(memory.MAJOR_PAGE_FAULTS),
        "1/s",
        floor=20.0,
    ),
    _saturation(
        "memory_pressure_ratio",
        "Share of time in which some task waited for memory.",
        total(rate(host.PRESSURE_WAITING_SECONDS, resource="memory"), "resource"),
        "ratio",
        floor=0.01,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "memory_stalled_ratio",
        "Share of time in which all tasks waited for memory.",
        total(rate(host.PRESSURE_STALLED_SECONDS, resource="memory"), "resource"),
        "ratio",
        floor=0.01,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "memory_swapped_in_pages_per_second",
        "Pages read back from swap.",
        rate(memory.SWAPPED_IN_PAGES),
        "1/s",
        floor=20.0,
    ),
    _saturation(
        "memory_swapped_out_pages_per_second",
        "Pages written to swap.",
        rate(memory.SWAPPED_OUT_PAGES),
        "1/s",
        floor=20.0,
    ),
    _saturation(
        "memory_swap_used_bytes",
        "Swap that is in use.",
        minus(level(memory.SWAP_TOTAL_BYTES), level(memory.SWAP_FREE_BYTES)),
        "B",
        floor=32 * _MEGABYTE,
    ),
    _saturation(
        "memory_scanned_pages_per_second",
        "Pages looked at for reclaim.",
        total(rate(memory.SCANNED_PAGES), "source"),
        "1/s",
        floor=500.0,
    ),
    _saturation(
        "memory_direct_reclaim_pages_per_second",
        "Pages that allocating programs had to reclaim themselves.",
        total(rate(memory.RECLAIMED_PAGES, source="direct"), "source"),
        "1/s",
        floor=100.0,
    ),
    _saturation(
        "memory_allocation_stalls_per_second",
        "Allocations that had to wait for reclaim.",
        total(rate(memory.ALLOCATION_STALLS), "zone"),
        "1/s",
        floor=0.5,
    ),
    _saturation(
        "memory_refaults_per_second",
        "Pages read again soon after they were reclaimed, by kind.",
        rate(memory.WORKINGSET_REFAULTS),
        "1/s",
        floor=100.0,
    ),
    _saturation(
        "memory_compaction_stalls_per_second",
        "Allocations that had to wait for compaction.",
        rate(memory.COMPACTION_STALLS),
        "1/s",
        floor=0.5,
    ),
    _utilisation(
        "memory_thp_allocations_per_second",
        "Transparent huge pages given at page faults.",
        rate(memory.THP_FAULT_ALLOCATIONS),
        "1/s",
        floor=10.0,
    ),
    _saturation(
        "memory_thp_fallbacks_per_second",
        "Page faults that wanted a huge page and got small ones.",
        rate(memory.THP_FAULT_FALLBACKS),
        "1/s",
        floor=1.0,
    ),
    _error(
        "memory_oom_kills_per_second", "Processes killed for lack of memory.", rate(memory.OOM_KILLS), "1/s", floor=0.03
    ),
    _utilisation(
        "memory_numa_allocations_per_second",
        "Pages allocated on all nodes.",
        total(rate(memory.NUMA_HIT), "node"),
        "1/s",
        floor=5000.0,
    ),
    _saturation(
        "memory_numa_misses_per_second",
        "Pages allocated on another node than was wanted.",
        total(rate(memory.NUMA_MISS), "node"),
        "1/s",
        floor=100.0,
    ),
    _state(
        "memory_numa_remote_ratio",
        "Share of each node's pages that were allocated from a CPU of another node.",
        ratio(
            rate(memory.NUMA_OTHER),
            at_least(plus(rate(memory.NUMA_OTHER), rate(memory.NUMA_LOCAL)), 1000.0),
        ),
        "ratio",
        floor=0.05,
        scale=Scale.LINEAR,
    ),
    _state(
        "memory_hugepages",
        "Huge pages in the pools, by size and state.",
        total(level(memory.HUGEPAGES), "node"),
        "pages",
        floor=4.0,
        worse=Worse.EITHER,
    ),
    _state(
        "memory_hugetlb_bytes",
        "Memory set aside for huge pages of all sizes.",  # by number three pages of 1 GiB are as few as three of 2 MiB
        level(memory.HUGETLB_BYTES),
        "B",
        floor=64 * _MEGABYTE,
        worse=Worse.EITHER,
    ),
    _error(
        "memory_corrected_errors_per_second",
        "Memory errors corrected by each controller.",
        rate(memoryerrors.EDAC_CORRECTABLE_ERRORS),
        "1/s",
        floor=0.02,
    ),
    _error(
        "memory_uncorrected_errors_per_second",
        "Memory errors that could not be corrected.",
        rate(memoryerrors.EDAC_UNCORRECTABLE_ERRORS),
        "1/s",
        floor=0.02,
    ),
    _error(
        "memory_corrupted_bytes",
        "Memory taken out of use after hardware errors.",
        level(memory.HARDWARE_CORRUPTED_BYTES),
        "B",
        floor=4096.0,
    ),
)
