"""Where devices sit: CPUs that are there, the PCI device and the NUMA node of one."""

from __future__ import annotations

import re

from exporter.host import Host

CPUS_ONLINE, CPUS_PRESENT = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present"
PCI_DEVICES = "/sys/bus/pci/devices"
NUMA_NODES = f"{PCI_DEVICES}/*/numa_node"
PCI_ENDPOINTS = ("0x0108", "0x02", "0x03", "0x12")
"""What classes of PCI devices begin with that work and data hang on: NVMe, network, display and 3D, accelerators."""
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def pci_address(host: Host, link: str) -> str:
    """The address of the nearest PCI device that the link of a device leads to, empty where there is none."""
    names = reversed(host.real_path(link).split("/"))
    return next(filter(_PCI_ADDRESS.fullmatch, names), "")


def numa_node(host: Host, address: str) -> str:
    """The number of a PCI device's NUMA node; empty where the firmware does not say (-1)."""
    node = host.text(f"{PCI_DEVICES}/{address}/numa_node", "") if address else ""
    return node if node.isdigit() else ""
