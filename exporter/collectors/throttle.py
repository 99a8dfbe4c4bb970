"""How often and how long cores and packages were slowed for heat or power.

https://docs.kernel.org/ABI/testing/sysfs-devices-system-cpu.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from catalog.families import cpu
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.devices import CPUS_ONLINE

_CPUS = "/sys/devices/system/cpu/cpu*"
_MILLISECOND = 0.001
_NUMBER = re.compile(r"[0-9]{1,9}")
_OF_CORE = {
    "core_throttle_count": (cpu.CORE_THROTTLES, 1.0),
    "core_throttle_total_time_ms": (cpu.CORE_THROTTLE_SECONDS, _MILLISECOND),
}
_OF_PACKAGE = {
    "package_throttle_count": (cpu.PACKAGE_THROTTLES, 1.0),
    "package_throttle_total_time_ms": (cpu.PACKAGE_THROTTLE_SECONDS, _MILLISECOND),
}


class ThrottleCollector(AttributeCollector):
    """Each CPU has the counts of its core and of its package: those of the first CPU of each are taken. Intel only."""

    name = "throttle"
    tier = Tier.MEDIUM
    families = tuple(family for family, _ in (*_OF_CORE.values(), *_OF_PACKAGE.values()))
    sources = (
        *(f"{_CPUS}/thermal_throttle/{file}" for file in (*_OF_CORE, *_OF_PACKAGE)),
        f"{_CPUS}/topology/core_id",
        f"{_CPUS}/topology/physical_package_id",
        CPUS_ONLINE,
    )
    absent = "only Intel's CPUs count it, and not for virtual machines"
    watches = (CPUS_ONLINE,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The files of each CPU, which name a core and package again and again."""
        for directory in context.host.glob(f"{_CPUS}/thermal_throttle"):
            topology = directory.replace("thermal_throttle", "topology")
            package = context.host.text(f"{topology}/physical_package_id", "")
            core = context.host.text(f"{topology}/core_id", "")
            if not (_NUMBER.fullmatch(package) and _NUMBER.fullmatch(core)):
                continue  # its counts would be told as those of another core
            for file, (family, factor) in _OF_CORE.items():
                if context.wants(family):
                    yield Attribute(f"{directory}/{file}", family(package, core), factor)
            for file, (family, factor) in _OF_PACKAGE.items():
                if context.wants(family):
                    yield Attribute(f"{directory}/{file}", family(package), factor)
