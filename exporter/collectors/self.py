"""The exporter's own families: how its collectors fare, how punctual it is, what it costs.

Process figures: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil

from catalog.families import exporter as own
from catalog.family import Family, Tier
from exporter.collector import Collector, Context
from exporter.tally import Health, State

_TIERS = (Tier.FAST, Tier.MEDIUM, Tier.SLOW, Tier.GPU)

Reading = tuple[Family, tuple[str, ...], float]


class SelfCollector(Collector):
    """Reads the tally that the sampler writes. Labels follow what is there: a collector that is off has no series."""

    name = "self"
    tier = Tier.MEDIUM
    families = (
        own.COLLECTOR_SUCCESS,
        own.COLLECTOR_CPU_SECONDS,
        own.COLLECTOR_DURATION_SECONDS,
        own.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS,
        own.COLLECTOR_RETURNS,
        own.TICKS,
        own.TICK_OVERRUNS,
        own.TICK_LATENESS_SECONDS,
        own.RING_SAMPLES,
        own.SERIES,
        own.ERRORS,
        own.PROCESS_CPU_SECONDS,
        own.PROCESS_RESIDENT_MEMORY_BYTES,
        own.PROCESS_OPEN_FDS,
    )
    sources = ()

    def __init__(self, context: Context) -> None:
        self._tally = context.tally
        self._wanted = frozenset(family.name for family in self.families if context.wants(family))
        self._process = psutil.Process()
        self._keys: list[tuple[str, tuple[str, ...]]] = []
        self.series = ()

    def read(self) -> list[float]:
        """The tally as it is now."""
        readings = [reading for reading in self._readings() if reading[0].name in self._wanted]
        keys = [(family.name, labels) for family, labels, _ in readings]
        if keys != self._keys:
            self._keys = keys
            self.series = tuple(family(*labels) for family, labels, _ in readings)
        return [value for _, _, value in readings]

    def _readings(self) -> Iterator[Reading]:
        for name, health in list(self._tally.collectors.items()):
            if health.state is not State.OFF:
                yield from self._of_collector(name, health)
        for tier in _TIERS:
            yield from self._of_tier(tier)
        for subsystem, series in self._tally.series.items():
            yield own.SERIES, (subsystem,), series
        yield own.PROCESS_CPU_SECONDS, (), time.process_time()
        yield own.PROCESS_RESIDENT_MEMORY_BYTES, (), self._process.memory_info().rss
        if own.PROCESS_OPEN_FDS.name in self._wanted:
            yield own.PROCESS_OPEN_FDS, (), self._process.num_fds()

    def _of_collector(self, name: str, health: Health) -> Iterator[Reading]:
        yield own.COLLECTOR_SUCCESS, (name,), health.state is State.ON
        yield own.COLLECTOR_CPU_SECONDS, (name,), health.cpu_s
        yield own.COLLECTOR_DURATION_SECONDS, (name,), health.duration_s
        yield own.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS, (name,), health.succeeded_at_s
        if "over_budget" in health.errors:  # from when it may return, so that its first time is an increase
            yield own.COLLECTOR_RETURNS, (name,), health.returns
        for error, count in list(health.errors.items()):
            yield own.ERRORS, (name, error), count

    def _of_tier(self, tier: Tier) -> Iterator[Reading]:
        pace = self._tally.paces[tier]
        yield own.TICKS, (tier,), pace.ticks
        yield own.TICK_OVERRUNS, (tier,), pace.overruns
        yield own.RING_SAMPLES, (tier,), pace.rows
        if tier is Tier.FAST and own.TICK_LATENESS_SECONDS.name in self._wanted:
            yield own.TICK_LATENESS_SECONDS, (tier, "max"), pace.late_s(1.0)
            yield own.TICK_LATENESS_SECONDS, (tier, "p99"), pace.late_s(0.99)
