"""Energy that CPU packages and their parts used.

https://docs.kernel.org/power/powercap/powercap.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from catalog.families import host
from catalog.family import Tier
from catalog.series import Series
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.powercap import ABSENT, DIRECTORY, MICRO, ZONES, zones


class RaplCollector(AttributeCollector):
    """The hardware's counters wrap within minutes to hours; here they go on. AMD's have the same name."""

    name = "rapl"
    tier = Tier.MEDIUM
    families = (host.RAPL_ENERGY_JOULES,)
    sources = tuple(f"{ZONES}/{file}" for file in ("name", "energy_uj", "max_energy_range_uj"))
    absent = ABSENT
    watches = (DIRECTORY,)

    def __init__(self, context: Context) -> None:
        self._range_joules: dict[Series, float] = {}
        self._last: dict[Series, float] = {}
        self._wrapped_joules: dict[Series, float] = {}
        super().__init__(context)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """One file a zone."""
        for path, zone, package in zones(context.host):
            series = host.RAPL_ENERGY_JOULES(zone, package)
            limit = context.host.text(f"{path}/max_energy_range_uj", "")
            self._range_joules[series] = int(limit) * MICRO if limit.isdecimal() else 0.0
            yield Attribute(f"{path}/energy_uj", series, MICRO)

    def read(self) -> list[float]:
        """Joules since the hardware's counters began, with what their wraps took added again."""
        readings = super().read()
        for at, series in enumerate(self.series):
            if readings[at] > self._range_joules[series] > 0.0:
                readings[at] = nan  # impossible, and what comes after it would look like a wrap
        for series, joules in zip(self.series, readings, strict=True):
            if joules < self._last.get(series, joules):
                self._wrapped_joules[series] = self._wrapped_joules.get(series, 0.0) + self._range_joules[series]
            if joules >= 0.0:  # not NaN
                self._last[series] = joules
        wrapped = self._wrapped_joules
        return [joules + wrapped.get(series, 0.0) for series, joules in zip(self.series, readings, strict=True)]
