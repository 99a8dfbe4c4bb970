"""Power that CPU packages and their parts are held to.

https://docs.kernel.org/power/powercap/powercap.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.powercap import ABSENT, DIRECTORY, MICRO, ZONES, zones

_LIMIT = "_power_limit_uw"


class RapllimitsCollector(AttributeCollector):
    """A file a constraint, most zones have one of a long term and one of a short."""

    name = "rapllimits"
    tier = Tier.SLOW
    families = (host.RAPL_POWER_LIMIT_WATTS,)
    sources = tuple(f"{ZONES}/{file}" for file in ("name", f"constraint_*{_LIMIT}", "constraint_*_name"))
    absent = ABSENT
    watches = (DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Constraints by name, or by number where they have none."""
        for path, zone, package in zones(context.host):
            for file in context.host.glob(f"{path}/constraint_*{_LIMIT}"):
                constraint = file.removesuffix(_LIMIT)
                name = context.host.text(f"{constraint}_name", "") or constraint.rpartition("_")[2]
                yield Attribute(file, host.RAPL_POWER_LIMIT_WATTS(zone, package, name), MICRO)
