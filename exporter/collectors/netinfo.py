"""Driver, PCI address and NUMA node of each network interface.

https://docs.kernel.org/ABI/testing/sysfs-class-net.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.devices import wanted_interface
from catalog.families import network
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector
from exporter.devices import NUMA_NODES, numa_node, pci_address

_DIRECTORY = "/sys/class/net"


class NetinfoCollector(ConstantCollector):
    """Parts that an interface does not have are empty."""

    name = "netinfo"
    tier = Tier.STATIC
    families = (network.INFO,)
    sources = (
        *(f"{_DIRECTORY}/*/{file}" for file in ("address", "duplex", "device", "device/driver")),
        NUMA_NODES,
    )

    def constants(self, context: Context) -> Iterator[Series]:
        """One series an interface."""
        host = context.host
        for name in filter(wanted_interface, host.names(_DIRECTORY)):
            link = f"{_DIRECTORY}/{name}"
            driver = host.real_path(f"{link}/device/driver") if host.exists(f"{link}/device/driver") else ""
            address = pci_address(host, f"{link}/device")
            yield network.INFO(
                name,
                host.text(f"{link}/address", ""),
                host.text(f"{link}/duplex", ""),
                driver.rpartition("/")[2],
                address,
                numa_node(host, address),
            )
