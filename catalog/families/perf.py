"""CPU families of perf events: work and stalls, caches, translation, clocks, and what the scheduler did to each CPU.

What the generic events mean: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
"""

from __future__ import annotations

from functools import partial

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

_CPU = ("cpu",)


def _event(
    name: str,
    help_text: str,
    source: str,
    *,
    alias: str = "",
    tier: Tier = Tier.FAST,
    profile: Profile = Profile.CORE,
    unit: Unit = Unit.COUNT,
    averaged: bool = False,
) -> Family:
    aliases = (Alias(f"node_perf_{alias}_total"),) if alias else ()
    source = f"perf {source}"
    return Family(
        name, Kind.COUNTER, unit, help_text, Subsystem.CPU, _CPU, tier, profile, source, aliases, averaged=averaged
    )


def _cache(name: str, help_text: str, source: str, *, alias: str = "", profile: Profile = Profile.CORE) -> Family:
    return _event(name, help_text, source, alias=alias and f"cache_{alias}", tier=Tier.MEDIUM, profile=profile)


# To read these of another CPU, that CPU is interrupted: what seconds tell as well is not asked ten times a second.
_slower = partial(_event, tier=Tier.MEDIUM)
_clock = partial(_slower, unit=Unit.CYCLES, averaged=True)


CYCLES = _event(
    "hostpulse_cpu_cycles_total",
    "Cycles in which each CPU was not halted.",
    "PERF_COUNT_HW_CPU_CYCLES",
    alias="cpucycles",
    unit=Unit.CYCLES,
)
INSTRUCTIONS = _event(
    "hostpulse_cpu_instructions_total",
    "Instructions that each CPU completed.",
    "PERF_COUNT_HW_INSTRUCTIONS",
    alias="instructions",
)
BRANCH_INSTRUCTIONS = _event(
    "hostpulse_cpu_branch_instructions_total",
    "Branches that each CPU completed.",
    "PERF_COUNT_HW_BRANCH_INSTRUCTIONS",
    alias="branch_instructions",
)
BRANCH_MISSES = _event(
    "hostpulse_cpu_branch_misses_total",
    "Branches that each CPU predicted wrongly.",
    "PERF_COUNT_HW_BRANCH_MISSES",
    alias="branch_misses",
)
CACHE_REFERENCES = _event(
    "hostpulse_cpu_cache_references_total",
    "Accesses to the cache that the kernel takes for this event: the last level on Intel, the second on AMD.",
    "PERF_COUNT_HW_CACHE_REFERENCES",
    alias="cache_refs",
)
CACHE_MISSES = _event(
    "hostpulse_cpu_cache_misses_total",
    "Accesses that missed that cache.",
    "PERF_COUNT_HW_CACHE_MISSES",
    alias="cache_misses",
)
STALLED_CYCLES_BACKEND = _event(
    "hostpulse_cpu_stalled_cycles_backend_total",
    "Cycles in which a CPU waited for its execution units or for memory.",
    "PERF_COUNT_HW_STALLED_CYCLES_BACKEND, on Intel CYCLE_ACTIVITY.STALLS_TOTAL",
    alias="stalled_cycles_backend",
)
STALLED_CYCLES_FRONTEND = _event(
    "hostpulse_cpu_stalled_cycles_frontend_total",
    "Cycles in which a CPU had no instructions to work on.",
    "PERF_COUNT_HW_STALLED_CYCLES_FRONTEND",
    alias="stalled_cycles_frontend",
)
REF_CYCLES = _event(
    "hostpulse_cpu_ref_cycles_total",
    "Cycles in which each CPU was not halted, at a rate that its frequency does not change.",
    "PERF_COUNT_HW_REF_CPU_CYCLES",
    alias="ref_cpucycles",
    unit=Unit.CYCLES,
)
BUS_CYCLES = _event(
    "hostpulse_cpu_bus_cycles_total",
    "Cycles of the bus clock in which each CPU was not halted.",
    "PERF_COUNT_HW_BUS_CYCLES",
    profile=Profile.FULL,
    unit=Unit.CYCLES,
)
PERF_RUNNING_RATIO = Family(
    "hostpulse_cpu_perf_running_ratio",
    Kind.GAUGE,
    Unit.RATIO,
    "Share of the time in which a group of hardware events was counted; the rest is extrapolated.",
    Subsystem.CPU,
    ("cpu", "group"),
    Tier.FAST,
    source="perf time_running by time_enabled",
)

L1D_LOADS = _cache(
    "hostpulse_cpu_l1d_loads_total",
    "Loads from each CPU's first-level data cache.",
    "L1-dcache-loads",
    alias="l1d_read_hits",
)
L1D_LOAD_MISSES = _cache(
    "hostpulse_cpu_l1d_load_misses_total",
    "Loads that missed the first-level data cache.",
    "L1-dcache-load-misses",
    alias="l1d_read_misses",
)
LLC_LOADS = _cache(
    "hostpulse_cpu_llc_loads_total",
    "Loads that reached the last-level cache.",
    "LLC-loads",
    alias="ll_read_hits",
)
LLC_LOAD_MISSES = _cache(
    "hostpulse_cpu_llc_load_misses_total",
    "Loads that missed the last-level cache and went to memory.",
    "LLC-load-misses",
    alias="ll_read_misses",
)
DTLB_LOADS = _cache(
    "hostpulse_cpu_dtlb_loads_total",
    "Translations of addresses to load from.",
    "dTLB-loads",
    alias="tlb_data_read_hits",
)
DTLB_LOAD_MISSES = _cache(
    "hostpulse_cpu_dtlb_load_misses_total",
    "Loads whose address had to be looked up in the page table.",
    "dTLB-load-misses",
    alias="tlb_data_read_misses",
)
NODE_LOADS = _cache(
    "hostpulse_cpu_node_loads_total",
    "Loads from memory; on some CPUs only those from their own NUMA node.",
    "node-loads",
)
NODE_LOAD_MISSES = _cache(
    "hostpulse_cpu_node_load_misses_total",
    "Loads from the memory of another NUMA node.",
    "node-load-misses",
)
L1I_LOAD_MISSES = _cache(
    "hostpulse_cpu_l1i_load_misses_total",
    "Instruction fetches that missed the first-level cache.",
    "L1-icache-load-misses",
    alias="l1_instr_read_misses",
    profile=Profile.STANDARD,
)
ITLB_LOAD_MISSES = _cache(
    "hostpulse_cpu_itlb_load_misses_total",
    "Instruction fetches whose address had to be looked up in the page table.",
    "iTLB-load-misses",
    alias="tlb_instr_read_misses",
    profile=Profile.STANDARD,
)
LLC_STORES = _cache(
    "hostpulse_cpu_llc_stores_total",
    "Stores that reached the last-level cache.",
    "LLC-stores",
    alias="ll_write_hits",
    profile=Profile.FULL,
)
LLC_STORE_MISSES = _cache(
    "hostpulse_cpu_llc_store_misses_total",
    "Stores that missed the last-level cache.",
    "LLC-store-misses",
    alias="ll_write_misses",
    profile=Profile.FULL,
)
DTLB_STORE_MISSES = _cache(
    "hostpulse_cpu_dtlb_store_misses_total",
    "Stores whose address had to be looked up in the page table.",
    "dTLB-store-misses",
    alias="tlb_data_write_misses",
    profile=Profile.FULL,
)

TSC_CYCLES = _clock(
    "hostpulse_cpu_tsc_cycles_total",
    "Ticks of each CPU's time-stamp counter, which go on at one rate whatever the CPU does.",
    "msr/tsc/",
)
MPERF_CYCLES = _clock(
    "hostpulse_cpu_mperf_cycles_total",
    "Ticks at the rate of the time-stamp counter in which each CPU was not halted.",
    "msr/mperf/",
)
APERF_CYCLES = _clock(
    "hostpulse_cpu_aperf_cycles_total",
    "Cycles in which each CPU was not halted, at the frequency that it ran at.",
    "msr/aperf/",
)
SMI = _slower(
    "hostpulse_cpu_smi_total",
    "System-management interrupts: the firmware took the CPU away from the kernel. Intel only.",
    "msr/smi/",
    profile=Profile.STANDARD,
)
CONTEXT_SWITCHES = _slower(
    "hostpulse_cpu_context_switches_total",
    "Context switches of each CPU; /proc/stat has only those of all together.",
    "PERF_COUNT_SW_CONTEXT_SWITCHES",
    alias="context_switches",
)
MIGRATIONS = _slower(
    "hostpulse_cpu_migrations_total",
    "Tasks that were moved to each CPU from another one.",
    "PERF_COUNT_SW_CPU_MIGRATIONS",
    alias="cpu_migrations",
)
MINOR_FAULTS = _slower(
    "hostpulse_cpu_minor_faults_total",
    "Page faults on each CPU that needed no storage; /proc/vmstat has only those of all together.",
    "PERF_COUNT_SW_PAGE_FAULTS_MIN",
    alias="minor_faults",
)
MAJOR_FAULTS = _slower(
    "hostpulse_cpu_major_faults_total",
    "Page faults on each CPU that had to read from storage; /proc/vmstat has only those of all together.",
    "PERF_COUNT_SW_PAGE_FAULTS_MAJ",
    alias="major_faults",
)
