"""Model, firmware, scheduler and NUMA node of each block device.

https://docs.kernel.org/admin-guide/abi-stable-files.html#abi-file-stable-sysfs-block
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from catalog.devices import wanted_disk
from catalog.families import storage
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector
from exporter.devices import NUMA_NODES, numa_node, pci_address

_DIRECTORY = "/sys/block"
_SERIALS = ("device/serial", "serial")
_FIRMWARES = ("device/firmware_rev", "device/rev")
_CHOSEN = re.compile(r"\[(\S+)\]")


class BlockinfoCollector(ConstantCollector):
    """NVMe, SCSI and virtual disks keep the same facts under different names; those that a disk lacks are empty."""

    name = "blockinfo"
    tier = Tier.STATIC
    families = (storage.DEVICE_INFO,)
    sources = (
        *(
            f"{_DIRECTORY}/*/{file}"
            for file in ("device", "device/model", *_SERIALS, *_FIRMWARES, "queue/rotational", "queue/scheduler")
        ),
        NUMA_NODES,
    )

    def constants(self, context: Context) -> Iterator[Series]:
        """One series a disk."""
        host = context.host
        for name in filter(wanted_disk, host.names(_DIRECTORY)):
            disk = f"{_DIRECTORY}/{name}"
            serial, firmware = (
                next(filter(None, (host.text(f"{disk}/{file}", "") for file in files)), "")
                for files in (_SERIALS, _FIRMWARES)
            )
            schedulers = host.text(f"{disk}/queue/scheduler", "")
            chosen = _CHOSEN.search(schedulers)
            yield storage.DEVICE_INFO(
                name,
                host.text(f"{disk}/device/model", ""),
                serial,
                firmware,
                host.text(f"{disk}/queue/rotational", ""),
                chosen[1] if chosen else schedulers,
                numa_node(host, pci_address(host, f"{disk}/device")),
            )
