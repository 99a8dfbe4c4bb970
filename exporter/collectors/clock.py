"""The wall time of the newest sample of each tier, in the same row as the samples that it dates."""

from __future__ import annotations

from catalog.families import exporter as own
from catalog.family import Tier
from exporter.collector import Context, PartedCollector


class ClockCollector(PartedCollector):
    """Fast, as each row of the fast tier needs its own time."""

    name = "clock"
    tier = Tier.FAST
    families = (own.SAMPLE_TIMESTAMP_SECONDS,)
    sources = ()

    def __init__(self, context: Context) -> None:
        tiers = (Tier.FAST, Tier.MEDIUM, Tier.SLOW, Tier.GPU)
        self._paces = [context.tally.paces[tier] for tier in tiers]
        self.series = tuple(map(own.SAMPLE_TIMESTAMP_SECONDS, tiers))

    def take(self) -> list[float]:
        """Seconds since the epoch; NaN before a tier's first sample."""
        return [pace.sampled_at_s for pace in self._paces]

    def parse(self, taken: list[float]) -> list[float]:
        """The same."""
        return taken
