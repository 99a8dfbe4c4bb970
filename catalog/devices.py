"""Which devices are worth their series, told by name, whoever counts them."""

from __future__ import annotations

import re

from catalog.family import Subsystem
from catalog.series import Series

# The host's ends of container links: their names are random and change with every container, and what passes them
# passes the container's own interface or the host's uplink as well.
_INTERFACES_LEFT_OUT = re.compile(r"veth.*")
# Memory and files that pose as disks, floppies, and partitions, which their disk counts already.
_DISKS_LEFT_OUT = re.compile(r"(z?ram|loop|fd)\d+|(h|s|v|xv)d[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+|nbd\d+|pmem\d+)p\d+")
# Mounts of containers: as many as there are, under names that nobody knows again.
_MOUNTPOINTS_LEFT_OUT = re.compile(r"/(var/lib/(docker|containers|containerd|kubelet)|run)/.+")


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


def wanted(series: Series, subsystem: Subsystem) -> bool:
    """Whether a series, which may be somebody else's, is of a device that is worth it.

    >>> wanted(Series("x", (("device", "veth1"),)), Subsystem.NETWORK)
    False
    """
    device = series.label("device")
    if subsystem is Subsystem.NETWORK:
        return wanted_interface(device)
    return wanted_mountpoint(series.label("mountpoint")) and (subsystem is not Subsystem.STORAGE or wanted_disk(device))
