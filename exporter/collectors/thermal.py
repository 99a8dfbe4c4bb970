"""Temperatures of thermal zones.

https://docs.kernel.org/driver-api/thermal/sysfs-api.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import ABSOLUTE_ZERO_CELSIUS, Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/thermal"
_ZONES = f"{_DIRECTORY}/thermal_zone*"
_MILLI = 1e-3


class ThermalCollector(AttributeCollector):
    """A zone that is switched off has no temperature."""

    name = "thermal"
    tier = Tier.SLOW
    families = (host.THERMAL_ZONE_CELSIUS,)
    sources = (f"{_ZONES}/type", f"{_ZONES}/temp")
    absent = "no thermal zones, as in most virtual machines"
    watches = (_DIRECTORY,)
    least = ABSOLUTE_ZERO_CELSIUS

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """One file a zone."""
        for zone in context.host.glob(_ZONES):
            series = host.THERMAL_ZONE_CELSIUS(
                zone.rpartition("thermal_zone")[2], context.host.text(f"{zone}/type", "")
            )
            yield Attribute(f"{zone}/temp", series, _MILLI)
