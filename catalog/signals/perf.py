"""Signals of perf events: how well CPUs work, not only how much. Ratios of all CPUs together, so busy ones count more.

What lies behind them: https://www.brendangregg.com/blog/2017-05-09/cpu-utilization-is-wrong.html
"""

from __future__ import annotations

from functools import partial

from catalog.expression import Expression, at_least, mean, plus, rate, ratio, total
from catalog.families import perf
from catalog.family import Family, Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_LEAST_PER_SECOND = 1e7  # below it a host is idle, and a ratio is one of noise

_state = partial(Signal, unit="ratio", role=Role.STATE, worse=Worse.EITHER, scale=Scale.LINEAR)
_stall = partial(Signal, unit="ratio", role=Role.SATURATION, scale=Scale.LINEAR)


def _all(family: Family) -> Expression:
    return total(rate(family), "cpu")


def _share(part: Family, whole: Expression) -> Expression:
    return ratio(_all(part), at_least(whole, _LEAST_PER_SECOND))


SIGNALS: tuple[Signal, ...] = (
    _state(
        "cpu_instructions_per_cycle_ratio",
        "Instructions completed in a cycle.",
        _share(perf.INSTRUCTIONS, _all(perf.CYCLES)),
        subsystem=Subsystem.CPU,
        floor=0.15,
    ),
    _state(
        "cpu_branch_miss_ratio",
        "Share of branches that were predicted wrongly.",
        _share(perf.BRANCH_MISSES, _all(perf.BRANCH_INSTRUCTIONS)),
        subsystem=Subsystem.CPU,
        floor=0.01,
    ),
    _stall(
        "cpu_stalled_frontend_ratio",
        "Share of cycles in which CPUs had no instructions to work on.",
        _share(perf.STALLED_CYCLES_FRONTEND, _all(perf.CYCLES)),
        subsystem=Subsystem.CPU,
        floor=0.05,
    ),
    _stall(
        "cpu_stalled_backend_ratio",
        "Share of cycles in which CPUs waited for their units or for memory.",
        _share(perf.STALLED_CYCLES_BACKEND, _all(perf.CYCLES)),
        subsystem=Subsystem.CPU,
        floor=0.05,
    ),
    _state(
        "cpu_l1d_miss_ratio",
        "Share of loads that missed the first-level cache.",
        _share(perf.L1D_LOAD_MISSES, _all(perf.L1D_LOADS)),
        subsystem=Subsystem.CPU,
        floor=0.02,
    ),
    _state(
        "memory_cache_miss_ratio",
        "Share of accesses that missed the cache which the kernel counts in general.",
        ratio(_all(perf.CACHE_MISSES), at_least(_all(perf.CACHE_REFERENCES), 1e6)),
        subsystem=Subsystem.MEMORY,
        floor=0.05,
    ),
    _state(
        "memory_llc_miss_ratio",
        "Share of loads from the last-level cache that went to memory.",
        ratio(_all(perf.LLC_LOAD_MISSES), at_least(_all(perf.LLC_LOADS), 1e6)),
        subsystem=Subsystem.MEMORY,
        floor=0.05,
    ),
    _state(
        "memory_dtlb_miss_ratio",
        "Share of loads whose address had to be looked up in the page table.",
        _share(perf.DTLB_LOAD_MISSES, _all(perf.DTLB_LOADS)),
        subsystem=Subsystem.MEMORY,
        floor=0.002,
    ),
    _state(
        "memory_remote_load_ratio",
        "Share of loads from memory that another NUMA node served.",
        ratio(
            _all(perf.NODE_LOAD_MISSES),
            at_least(plus(_all(perf.NODE_LOADS), _all(perf.NODE_LOAD_MISSES)), 1e5),
        ),
        subsystem=Subsystem.MEMORY,
        floor=0.05,
    ),
    Signal(
        "cpu_busy_ratio",
        "Share of time in which CPUs were not halted.",
        ratio(_all(perf.MPERF_CYCLES), at_least(_all(perf.TSC_CYCLES), 1.0)),
        "ratio",
        Subsystem.CPU,
        Role.UTILISATION,
        floor=0.03,
        worse=Worse.EITHER,
        scale=Scale.LINEAR,
    ),
    Signal(
        "cpu_busy_frequency_hertz",
        "Frequency of the CPUs while they were not halted.",
        ratio(
            _all(perf.APERF_CYCLES), ratio(at_least(_all(perf.MPERF_CYCLES), 1.0), mean(rate(perf.TSC_CYCLES), "cpu"))
        ),
        "Hz",
        Subsystem.CPU,
        Role.STATE,
        floor=1e8,
        worse=Worse.LOWER,
        scale=Scale.LINEAR,
    ),
    Signal(
        "cpu_migrations_per_second",
        "Tasks moved from one CPU to another.",
        _all(perf.MIGRATIONS),
        "1/s",
        Subsystem.CPU,
        Role.UTILISATION,
        floor=100.0,
        worse=Worse.EITHER,
    ),
)
