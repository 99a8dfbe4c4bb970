"""Board, firmware, link layer, network interface and NUMA node of each RDMA port.

https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html,
https://docs.kernel.org/ABI/testing/sysfs-class-infiniband.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import rdma
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector
from exporter.devices import NUMA_NODES, numa_node, pci_address
from exporter.rdma import PORTS

_DEVICES = PORTS.removesuffix("/ports/*")
_INTERFACE = "gid_attrs/ndevs/0"  # of the first address of a port, which is that of its own interface


class RdmainfoCollector(ConstantCollector):
    """What a port does not say is empty; InfiniBand ports name no interface."""

    name = "rdmainfo"
    tier = Tier.STATIC
    families = (rdma.RDMA_INFO,)
    sources = (
        *(f"{PORTS}/{file}" for file in ("link_layer", _INTERFACE)),
        *(f"{_DEVICES}/{file}" for file in ("board_id", "fw_ver", "device")),
        NUMA_NODES,
    )

    def constants(self, context: Context) -> Iterator[Series]:
        """One series a port."""
        host = context.host
        for port in host.glob(PORTS):
            *_, name, _, number = port.split("/")
            device = port.removesuffix(f"/ports/{number}")
            yield rdma.RDMA_INFO(
                name,
                number,
                host.text(f"{device}/board_id", ""),
                host.text(f"{device}/fw_ver", ""),
                host.text(f"{port}/link_layer", ""),
                host.text(f"{port}/{_INTERFACE}", ""),
                numa_node(host, pci_address(host, f"{device}/device")),
            )
