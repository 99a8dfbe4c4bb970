"""How often each link went up or down.

https://docs.kernel.org/ABI/testing/sysfs-class-net.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.devices import wanted_interface
from catalog.families import network
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/net"


class NetcarrierCollector(AttributeCollector):
    """One file an interface."""

    name = "netcarrier"
    tier = Tier.MEDIUM
    families = (network.CARRIER_CHANGES,)
    sources = (f"{_DIRECTORY}/*/carrier_changes",)
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Changes, up and down together."""
        for device in filter(wanted_interface, context.host.names(_DIRECTORY)):
            yield Attribute(f"{_DIRECTORY}/{device}/carrier_changes", network.CARRIER_CHANGES(device))
