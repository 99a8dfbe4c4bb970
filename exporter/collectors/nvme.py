"""Temperatures of NVMe controllers.

https://docs.kernel.org/hwmon/sysfs-interface.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from catalog.families import storage
from catalog.family import Tier
from exporter.attributes import ABSOLUTE_ZERO_CELSIUS, Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/nvme"
_PLACES = ("", "device/hwmon/")  # before Linux 5.12 the sensors were the PCI device's
_SENSORS = tuple(f"{_DIRECTORY}/*/{place}hwmon*/temp*_input" for place in _PLACES)
_MILLI = 1e-3


class NvmeCollector(AttributeCollector):
    """Each reading is a command to the controller."""

    name = "nvme"
    tier = Tier.SLOW
    families = (storage.NVME_TEMPERATURE_CELSIUS,)
    sources = _SENSORS
    absent = "no NVMe drive with sensors"
    watches = (_DIRECTORY,)
    least = ABSOLUTE_ZERO_CELSIUS

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """``temp1`` is the controller's overall temperature, the others are those of its parts."""
        for path in chain.from_iterable(map(context.host.glob, _SENSORS)):
            device, *_, file = path.removeprefix(f"{_DIRECTORY}/").split("/")
            yield Attribute(path, storage.NVME_TEMPERATURE_CELSIUS(device, file.removesuffix("_input")), _MILLI)
