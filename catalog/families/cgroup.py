"""What limits do to the top-level control groups (slices): held back on the CPU, or at the end of their memory.

https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/scheduler/sched-bwc.html (version 1)
"""

from __future__ import annotations

from catalog.family import Family, Kind, Profile, Subsystem, Tier, Unit

CGROUP_THROTTLED_SECONDS = Family(
    "hostpulse_cpu_cgroup_throttled_seconds_total",
    Kind.COUNTER,
    Unit.SECONDS,
    "Time for which tasks of a top-level control group were held back by its CPU limit, summed over CPUs.",
    Subsystem.CPU,
    ("cgroup",),
    Tier.MEDIUM,
    source="/sys/fs/cgroup/*/cpu.stat throttled_usec, version 1: throttled_time",
)
CGROUP_THROTTLES = Family(
    "hostpulse_cpu_cgroup_throttles_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Periods in which a top-level control group used up its CPU limit.",
    Subsystem.CPU,
    ("cgroup",),
    Tier.MEDIUM,
    Profile.STANDARD,
    "/sys/fs/cgroup/*/cpu.stat nr_throttled",
)
CGROUP_EVENTS = Family(
    "hostpulse_memory_cgroup_events_total",
    Kind.COUNTER,
    Unit.COUNT,
    "How often a top-level control group, or one in it, met a memory limit: high, max, oom, oom_kill.",
    Subsystem.MEMORY,
    ("cgroup", "event"),
    Tier.MEDIUM,
    source="/sys/fs/cgroup/*/memory.events, version 1: memory.failcnt and memory.oom_control, each group by itself",
)
CGROUP_LIMIT_INFO = Family(
    "hostpulse_cpu_cgroup_limit_info",
    Kind.INFO,
    Unit.NONE,
    "Limits of a top-level control group as the kernel writes them: quota and period in microseconds, and bytes.",
    Subsystem.CPU,
    ("cgroup", "cpu_max", "memory_high", "memory_max"),
    Tier.STATIC,
    source="/sys/fs/cgroup/*/{cpu.max,memory.high,memory.max}",
)
