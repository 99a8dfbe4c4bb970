"""One target: when it is scraped, what it tells, its clock, and when each of its samples was taken.

A scrape repeats the value of a tier that is slower than it, and a value is older than its scrape. Samples of our own
exporter therefore lie where it says that each tier was sampled, moved by the usual age at a scrape, which is also how
much the two machines' clocks differ: repeats fall together, and rates have the right clock. Others do not say when they
sampled; what they tell counts as of the scrape, unless not one value differs from the scrape before.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence, Set

import numpy as np

from catalog import FAMILIES
from catalog.exporters import OWN
from catalog.families.exporter import SAMPLE_TIMESTAMP_SECONDS
from catalog.family import Tier
from catalog.series import Series
from detector.buffer import Buffer, Columns
from detector.frame import Floats
from detector.source import KEPT_S
from detector.tables import Table, advancing, changing
from detector.targets import Target
from detector.translation import Translation

_SPARE_INTERVALS = 2.0
_SCRAPES_KEPT = 20
_LARGEST_DRIFT_S = 1.0
_NOTABLE_SKEW_S = 2.0
_AS_SCRAPED = "as scraped"

_Lane = tuple[Floats, list[int]]

_LOG = logging.getLogger(__name__)


class Scrapes:
    """What is known of one target. All times are the database's, in seconds since the epoch."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.translation = Translation(target.exporter)
        self.newest_s = math.nan
        self.oldest_s = math.nan
        self.interval_s = math.nan
        self.covered_s = (math.nan, math.nan)
        self.skew_s = math.nan
        self.scrapes_s: Floats = np.empty(0)
        self.columns: dict[str, Columns] = {}

    @property
    def families(self) -> set[str]:
        """Names of the families that it tells."""
        return {series.name for columns in self.columns.values() for series in columns}

    def measure(self, scrapes: Sequence[Set[float]]) -> None:
        """Take over how often it is scraped and since when, from the times of the scrapes of one or more databases.

        The first that tells an interval counts: times of two of them are none.
        """
        if scrapes:
            self.oldest_s = min(map(min, scrapes))
            self._saw(np.array(sorted(next((times_s for times_s in scrapes if len(times_s) > 1), scrapes[0]))))

    def _saw(self, scrapes_s: Floats) -> None:
        """Follow the scrape interval: the median over the newest scrapes, so that a missed one does not show.

        What was seen of the same time before is replaced: another database may have filled a gap that is none any more.
        """
        if not len(scrapes_s):
            return
        others_s = self.scrapes_s[(self.scrapes_s < scrapes_s[0]) | (self.scrapes_s > scrapes_s[-1])]
        self.scrapes_s = np.union1d(others_s, scrapes_s)[-_SCRAPES_KEPT:]
        if len(self.scrapes_s) > 1:
            self.interval_s = float(np.median(np.diff(self.scrapes_s)))

    def _follow_clock(self, ages_s: Floats) -> bool:
        """Take over how much later scrapes are than samples (NaN = unknown); True where that is a change."""
        known_s = ages_s[~np.isnan(ages_s)]
        if not len(known_s) or abs(np.median(known_s) - self.skew_s) <= _LARGEST_DRIFT_S:
            return False
        self.skew_s = round(float(np.median(known_s)), 1)
        return True

    def missing(self, start_s: float, end_s: float, late_s: float) -> tuple[float, float] | None:
        """What of (start, end] is to be read, since it was not there yet; None for nothing.

        Samples that come up to ``late_s`` late are asked for again.
        """
        _, last_s = self._covered(start_s)
        until_s = min(end_s + self._spare_s, self.newest_s)
        return (last_s - max(self._spare_s, late_s), until_s) if until_s > last_s else None

    def cover(self, start_s: float, until_s: float) -> None:
        """All up to ``until_s`` was read; what lies well before ``start_s`` is not needed again."""
        first_s, last_s = self._covered(start_s)
        self.covered_s = (max(first_s, start_s - self._spare_s - KEPT_S), max(last_s, until_s))

    def add_to(self, buffer: Buffer, found: Table, told: set[str]) -> None:
        """Put what was scraped into a buffer, without the families ``told`` by others."""
        times_s, values, series = found
        self._saw(times_s)
        own = self.target.exporter is OWN
        for lane, (sampled_s, indices) in (self._by_tier(*found) if own else _as_scraped(*found)).items():
            name = f"{self.target.job} {self.target.instance} {lane}"
            rows = advancing(sampled_s)
            if not own:
                rows &= changing(values)
                # The first row was read before, and is there to compare the second one with.
                rows[0] &= not buffer.newest_s(name) >= sampled_s[0]
            wanted = [index for index in indices if series[index].name not in told]
            columns = tuple(series[index] for index in wanted)
            if columns != self.columns.get(lane):
                self.columns[lane] = columns
            buffer.add(name, self.columns[lane], sampled_s[rows], values[rows][:, wanted])

    def _covered(self, start_s: float) -> tuple[float, float]:
        """From when to when all was read; nothing where that does not reach to ``start_s``."""
        first_s, last_s = self.covered_s
        from_s = start_s - self._spare_s
        return (first_s, last_s) if first_s <= from_s <= last_s else (from_s, from_s)

    @property
    def _spare_s(self) -> float:
        return _SPARE_INTERVALS * (0.0 if math.isnan(self.interval_s) else self.interval_s)

    def _by_tier(self, times_s: Floats, values: Floats, series: Sequence[Series]) -> dict[str, _Lane]:
        """When the samples of each tier were taken."""
        stamps = {
            one.label("tier"): values[:, index]
            for index, one in enumerate(series)
            if one.name == SAMPLE_TIMESTAMP_SECONDS.name
        }
        fast_s = stamps.get(Tier.FAST)
        moved = fast_s is not None and self._follow_clock(times_s - fast_s)
        if moved and abs(self.skew_s) > _NOTABLE_SKEW_S:
            _LOG.warning("the clock of %s is %.1f s behind the database's", self.target.instance, self.skew_s)
        by_tier: dict[str, list[int]] = {}
        for index, one in enumerate(series):
            by_tier.setdefault(FAMILIES[one.name].tier, []).append(index)
        skew_s = np.nan_to_num(self.skew_s)
        return {
            tier: (times_s if tier not in stamps else np.round(stamps[tier] + skew_s, 3), indices)
            for tier, indices in by_tier.items()
        }


def _as_scraped(times_s: Floats, _: Floats, series: Sequence[Series]) -> dict[str, _Lane]:
    return {_AS_SCRAPED: (times_s, list(range(len(series))))}
