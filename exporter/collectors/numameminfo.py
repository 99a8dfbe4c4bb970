"""What memory is used for on each NUMA node.

https://docs.kernel.org/ABI/stable/sysfs-devices-node.html
"""

from __future__ import annotations

from catalog.families import memory
from catalog.family import Tier
from exporter.numa import NODES_ONLINE, NodeCollector

_FIELDS = {
    b"MemTotal:": memory.NUMA_TOTAL_BYTES,
    b"MemFree:": memory.NUMA_FREE_BYTES,
    b"MemUsed:": memory.NUMA_USED_BYTES,
    b"Dirty:": memory.NUMA_DIRTY_BYTES,
    b"Writeback:": memory.NUMA_WRITEBACK_BYTES,
    b"FilePages:": memory.NUMA_FILE_BYTES,
    b"AnonPages:": memory.NUMA_ANON_BYTES,
    b"Shmem:": memory.NUMA_SHMEM_BYTES,
}


class NumaMeminfoCollector(NodeCollector):
    """Stocks of memory by node; the kernel counts them in KiB."""

    name = "numameminfo"
    tier = Tier.MEDIUM
    sources = ("/sys/devices/system/node/node*/meminfo", NODES_ONLINE)
    factor = 1024.0
    fields = _FIELDS
    families = tuple(_FIELDS.values())
