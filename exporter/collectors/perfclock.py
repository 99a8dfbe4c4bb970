"""Clocks of each CPU, and what the scheduler and the memory did on it: none of it needs a counter of the PMU.

https://docs.kernel.org/ABI/testing/sysfs-bus-event_source-devices-events.html,
https://man7.org/linux/man-pages/man2/perf_event_open.2.html (PERF_TYPE_SOFTWARE)
"""

from __future__ import annotations

from catalog.families import perf
from catalog.family import Tier
from exporter.devices import CPUS_ONLINE
from exporter.perfcounters import PerfCollector
from exporter.perfevents import Named, files_of, software

_MSR = "msr"

_EVENTS = {
    perf.TSC_CYCLES: (Named(_MSR, "tsc"),),
    perf.APERF_CYCLES: (Named(_MSR, "aperf"),),
    perf.MPERF_CYCLES: (Named(_MSR, "mperf"),),
    perf.SMI: (Named(_MSR, "smi"),),
    perf.CONTEXT_SWITCHES: (software(3),),
    perf.MIGRATIONS: (software(4),),
    perf.MINOR_FAULTS: (software(5),),
    perf.MAJOR_FAULTS: (software(6),),
}


class PerfClockCollector(PerfCollector):
    """One group, and one read, a CPU. The clocks come first: a group that software leads is not read from registers."""

    name = "perfclock"
    tier = Tier.MEDIUM
    candidates = _EVENTS
    largest_group = len(_EVENTS)
    families = tuple(_EVENTS)
    sources = (CPUS_ONLINE, *files_of(_MSR))
