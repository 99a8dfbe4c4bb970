"""Hardware events of each CPU: work, branches, caches, stalls.

What each generic event is on which CPU: https://man7.org/linux/man-pages/man2/perf_event_open.2.html; Intel's own:
https://perfmon-events.intel.com/, Arm's: the Architecture Reference Manual, chapter D13 (PMU events).
"""

from __future__ import annotations

from catalog.families import perf
from catalog.family import Tier
from exporter.devices import CPUS_ONLINE
from exporter.perfcounters import PerfCollector
from exporter.perfevents import ARM, IntelRaw, Named, files_of, hardware

# CYCLE_ACTIVITY.STALLS_TOTAL: event 0xa3, umask 4, counter mask 4 on the Xeons from Haswell to Granite Rapids, for
# which the kernel has no generic event. By model number: Haswell, Broadwell, Skylake and its successors to 2024.
_INTEL_STALLS = IntelRaw(
    0x40004A3, frozenset({"63", "79", "86", "85", "106", "108", "143", "207", "173", "174"})
)  # fmt: skip

_EVENTS = {
    perf.CYCLES: (hardware(0),),
    perf.INSTRUCTIONS: (hardware(1),),
    perf.BRANCH_INSTRUCTIONS: (hardware(4), Named(ARM, "br_retired")),
    perf.BRANCH_MISSES: (hardware(5),),
    perf.CACHE_REFERENCES: (hardware(2),),
    perf.CACHE_MISSES: (hardware(3),),
    perf.STALLED_CYCLES_BACKEND: (hardware(8), _INTEL_STALLS),
    perf.STALLED_CYCLES_FRONTEND: (hardware(7),),
    perf.REF_CYCLES: (hardware(9),),
    perf.BUS_CYCLES: (hardware(6),),
}


class PerfEventsCollector(PerfCollector):
    """Ratios need both of their events counted at the same time, so these stand together."""

    name = "perf"
    tier = Tier.FAST
    candidates = _EVENTS
    running = perf.PERF_RUNNING_RATIO
    families = (*_EVENTS, running)
    sources = (CPUS_ONLINE, *files_of(ARM))
