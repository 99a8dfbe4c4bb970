"""Which devices are worth their series, told by name, and where they sit."""

from __future__ import annotations

import re

from exporter.host import Host

# The host's ends of container links: their names are random and change with every container, and what passes them
# passes the container's own interface or the host's uplink as well.
_INTERFACES_LEFT_OUT = re.compile(r"veth.*")
# Memory and files that pose as disks, floppies, and partitions, which their disk counts already.
_DISKS_LEFT_OUT = re.compile(r"(z?ram|loop|fd)\d+|(h|s|v|xv)d[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+|nbd\d+|pmem\d+)p\d+")

CPUS_ONLINE, CPUS_PRESENT = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present"
PCI_DEVICES = "/sys/bus/pci/devices"
NUMA_NODES = f"{PCI_DEVICES}/*/numa_node"
PCI_ENDPOINTS = ("0x0108", "0x02", "0x03", "0x12")
"""What classes of PCI devices begin with that work and data hang on: NVMe, network, display and 3D, accelerators."""
# Mounts of containers: as many as there are, under names that nobody knows again.
_MOUNTPOINTS_LEFT_OUT = re.compile(r"/(var/lib/(docker|containers|containerd|kubelet)|run)/.+")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def wanted_interface(name: str) -> bool:
    """Whether a network interface is one that stays.

    >>> [wanted_interface(name) for name in ("eth0", "veth1a2b3c")]
    [True, False]
    """
    return not _INTERFACES_LEFT_OUT.fullmatch(name)


def wanted_disk(name: str) -> bool:
    """Whether a block device is a disk of its own.

    >>> [name for name in ("sda", "sda1", "nvme0n1", "nvme0n1p2", "md0", "dm-0", "loop7") if wanted_disk(name)]
    ['sda', 'nvme0n1', 'md0', 'dm-0']
    """
    return not _DISKS_LEFT_OUT.fullmatch(name)


def wanted_mountpoint(name: str) -> bool:
    """Whether what is mounted there is the host's own.

    >>> [wanted_mountpoint(name) for name in ("/data", "/var/lib/kubelet/pods/1b/volumes/x")]
    [True, False]
    """
    return not _MOUNTPOINTS_LEFT_OUT.fullmatch(name)


def pci_address(host: Host, link: str) -> str:
    """The address of the nearest PCI device that the link of a device leads to, empty where there is none."""
    names = reversed(host.real_path(link).split("/"))
    return next(filter(_PCI_ADDRESS.fullmatch, names), "")


def numa_node(host: Host, address: str) -> str:
    """The number of a PCI device's NUMA node; empty where the firmware does not say (-1)."""
    node = host.text(f"{PCI_DEVICES}/{address}/numa_node", "") if address else ""
    return node if node.isdigit() else ""
