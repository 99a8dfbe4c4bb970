"""State, speed and packet size of each link.

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
_BYTES_PER_MEGABIT = 125_000.0


_STATES = frozenset((b"unknown", b"notpresent", b"down", b"lowerlayerdown", b"testing", b"dormant", b"up"))


def _is_up(state: bytes) -> float:
    word = state.strip()
    if word not in _STATES:
        raise ValueError(f"{word[:40]!r} is not a state of a link")
    return float(word == b"up")


class NetlinkCollector(AttributeCollector):
    """Drivers may ask their firmware for the speed, which takes a while; a link without one has -1 or an error."""

    name = "netlink"
    tier = Tier.SLOW
    families = (network.UP, network.SPEED_BYTES_PER_SECOND, network.MTU_BYTES)
    sources = (f"{_DIRECTORY}/*/operstate", f"{_DIRECTORY}/*/speed", f"{_DIRECTORY}/*/mtu")
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Flags, bytes a second and bytes."""
        for device in filter(wanted_interface, context.host.names(_DIRECTORY)):
            link = f"{_DIRECTORY}/{device}"
            yield Attribute(f"{link}/operstate", network.UP(device), convert=_is_up)
            yield Attribute(f"{link}/speed", network.SPEED_BYTES_PER_SECOND(device), _BYTES_PER_MEGABIT)
            if context.wants(network.MTU_BYTES):
                yield Attribute(f"{link}/mtu", network.MTU_BYTES(device))
