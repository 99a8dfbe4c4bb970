"""Signals of control groups: work that is slow because of a limit, not because of the hardware."""

from __future__ import annotations

from catalog.expression import rate
from catalog.families import cgroup
from catalog.family import Subsystem
from catalog.signal import Role, Scale, Signal

SIGNALS: tuple[Signal, ...] = (
    Signal(
        "cpu_cgroup_throttled_ratio",
        "Mean number of CPUs that a control group was kept from by its limit.",
        rate(cgroup.CGROUP_THROTTLED_SECONDS),
        "ratio",
        Subsystem.CPU,
        Role.SATURATION,
        floor=0.05,
        scale=Scale.LINEAR,
    ),
    Signal(
        "memory_cgroup_limit_hits_per_second",
        "Times that a control group met its memory limit.",
        rate(cgroup.CGROUP_EVENTS, event="max"),
        "1/s",
        Subsystem.MEMORY,
        Role.SATURATION,
        floor=1.0,
    ),
    Signal(
        "memory_cgroup_oom_kills_per_second",
        "Processes killed because their control group had no memory left.",
        rate(cgroup.CGROUP_EVENTS, event="oom_kill"),
        "1/s",
        Subsystem.MEMORY,
        Role.ERROR,
        floor=0.02,
    ),
)
