"""Temperatures, fans, power and voltages that board sensors report.

https://docs.kernel.org/hwmon/sysfs-interface.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import ABSOLUTE_ZERO_CELSIUS, Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/hwmon"
_CHIPS = f"{_DIRECTORY}/hwmon*"
_PLACES = ("", "device/")  # drivers of long ago keep the sensors with the device
_MILLI, _MICRO = 1e-3, 1e-6
_UNCLEAN = re.compile(r"[^a-z0-9:_]")
_SENSOR = re.compile(r"(temp|fan|in)(\d+)_input|(power)(\d+)_(?:input|average)")
_FACTORS = {"temp": _MILLI, "fan": 1.0, "in": _MILLI, "power": _MICRO}
_LABELLED = {"temp": host.HWMON_TEMPERATURE_CELSIUS, "in": host.HWMON_VOLTAGE_VOLTS}
_UNLABELLED = {"fan": host.HWMON_FAN_RPM, "power": host.HWMON_POWER_WATTS}


class HwmonCollector(AttributeCollector):
    """Chips are named after their device, as numbers of hwmon change from boot to boot. Some take seconds to answer.

    NVMe drives have a collector of their own.
    """

    name = "hwmon"
    tier = Tier.SLOW
    families = (*_LABELLED.values(), *_UNLABELLED.values())
    sources = (
        *(f"{_CHIPS}/{file}" for file in ("name", "device")),
        *(
            f"{_CHIPS}/{place}{file}"
            for place in _PLACES
            for file in (
                *("temp*_input", "temp*_label", "in*_input", "in*_label"),
                *("fan*_input", "power*_input", "power*_average"),
            )
        ),
    )
    absent = "no sensors, as in most virtual machines"
    watches = (_DIRECTORY,)
    least = ABSOLUTE_ZERO_CELSIUS

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The sensors of each chip; power as a mean where a chip has no reading of the instant."""
        for chip, name in self._names(context).items():
            for directory in (f"{chip}/{place}".rstrip("/") for place in _PLACES):
                files = sorted(context.host.names(directory), key=lambda file: (file.endswith("average"), file))
                for match in filter(None, map(_SENSOR.fullmatch, files)):
                    yield from self._sensor(context, name, directory, match)

    def _sensor(self, context: Context, name: str, directory: str, match: re.Match[str]) -> Iterator[Attribute]:
        file, kind, number = match[0], match[1] or match[3], match[2] or match[4]
        path, sensor, factor = f"{directory}/{file}", f"{kind}{number}", _FACTORS[kind]
        family = _LABELLED.get(kind) or _UNLABELLED[kind]
        if not context.wants(family):
            return
        label = (context.host.text(f"{directory}/{sensor}_label", ""),) if kind in _LABELLED else ()
        yield Attribute(path, family(name, sensor, *label), factor)

    def _names(self, context: Context) -> Mapping[str, str]:
        """Chips with their names; where one device has several chips, what each is called is added."""
        called = {chip: context.host.text(f"{chip}/name", "") for chip in context.host.glob(_CHIPS)}
        names = {chip: self._device(context, chip) or own for chip, own in called.items() if own != "nvme"}
        shared, told_apart = Counter(names.values()), Counter((name, called[chip]) for chip, name in names.items())
        for chip, name in names.items():
            number = chip.rpartition("/")[2]
            if not name:
                names[chip] = number
            elif shared[name] > 1:
                alone = called[chip] and told_apart[name, called[chip]] == 1
                names[chip] = f"{name}_{called[chip] if alone else number}"
        return {chip: _clean(name) for chip, name in names.items()}

    def _device(self, context: Context, chip: str) -> str:
        """The bus and the device that a chip belongs to, as node_exporter names it: ``platform_coretemp.0``."""
        link = f"{chip}/device"
        if not context.host.exists(link):
            return ""
        *_, bus, device = context.host.real_path(link).split("/")
        return f"{_clean(bus)}_{_clean(device)}"


def _clean(name: str) -> str:
    return _UNCLEAN.sub("_", name.lower()).strip("_")
