"""Cache and translation events of each CPU.

https://man7.org/linux/man-pages/man2/perf_event_open.2.html, PERF_TYPE_HW_CACHE
"""

from __future__ import annotations

from catalog.families import perf
from catalog.family import Tier
from exporter.devices import CPUS_ONLINE
from exporter.perfcounters import PerfCollector
from exporter.perfevents import ARM, Named, cache, files_of

_L1D, _L1I, _LLC, _DTLB, _ITLB, _NODE = 0, 1, 2, 3, 4, 6
_LOADS, _STORES = 0, 1
_ACCESSES, _MISSES = 0, 1

_EVENTS = {
    perf.L1D_LOADS: (cache(_L1D, _LOADS, _ACCESSES),),
    perf.L1D_LOAD_MISSES: (cache(_L1D, _LOADS, _MISSES),),
    perf.LLC_LOADS: (cache(_LLC, _LOADS, _ACCESSES), Named(ARM, "ll_cache_rd")),
    perf.LLC_LOAD_MISSES: (cache(_LLC, _LOADS, _MISSES), Named(ARM, "ll_cache_miss_rd")),
    perf.DTLB_LOADS: (cache(_DTLB, _LOADS, _ACCESSES),),
    perf.DTLB_LOAD_MISSES: (cache(_DTLB, _LOADS, _MISSES),),
    perf.NODE_LOADS: (cache(_NODE, _LOADS, _ACCESSES),),
    perf.NODE_LOAD_MISSES: (cache(_NODE, _LOADS, _MISSES), Named(ARM, "remote_access_rd")),
    perf.L1I_LOAD_MISSES: (cache(_L1I, _LOADS, _MISSES),),
    perf.ITLB_LOAD_MISSES: (cache(_ITLB, _LOADS, _MISSES),),
    perf.LLC_STORES: (cache(_LLC, _STORES, _ACCESSES),),
    perf.LLC_STORE_MISSES: (cache(_LLC, _STORES, _MISSES),),
    perf.DTLB_STORE_MISSES: (cache(_DTLB, _STORES, _MISSES),),
}


class PerfCacheCollector(PerfCollector):
    """AMD's last level belongs to no CPU and is not among them."""

    name = "perfcache"
    tier = Tier.MEDIUM
    candidates = _EVENTS
    families = tuple(_EVENTS)
    sources = (CPUS_ONLINE, *files_of(ARM))
