"""How hard fans and other cooling devices work, those that slow a CPU down among them.

https://docs.kernel.org/driver-api/thermal/sysfs-api.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/thermal"
_DEVICES = f"{_DIRECTORY}/cooling_device*"
_FILES = {"cur_state": host.COOLING_DEVICE_STATE, "max_state": host.COOLING_DEVICE_MAX_STATE}
_OFF = -1.0  # as Intel's idle injector says it


class CoolingCollector(AttributeCollector):
    """Two files a device."""

    name = "cooling"
    tier = Tier.SLOW
    families = tuple(_FILES.values())
    sources = tuple(f"{_DEVICES}/{file}" for file in ("type", *_FILES))
    absent = "no cooling devices, as in most virtual machines"
    watches = (_DIRECTORY,)
    least = _OFF

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """States as the device counts them."""
        for device in context.host.glob(_DEVICES):
            labels = device.rpartition("cooling_device")[2], context.host.text(f"{device}/type", "")
            for file, family in _FILES.items():
                yield Attribute(f"{device}/{file}", family(*labels))
