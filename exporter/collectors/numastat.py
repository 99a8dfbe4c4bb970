"""Where pages were allocated, by NUMA node.

https://docs.kernel.org/admin-guide/numastat.html
"""

from __future__ import annotations

from catalog.families import memory
from catalog.family import Tier
from exporter.numa import NODES_ONLINE, NodeCollector

_FIELDS = {
    b"numa_hit": memory.NUMA_HIT,
    b"numa_miss": memory.NUMA_MISS,
    b"numa_foreign": memory.NUMA_FOREIGN,
    b"interleave_hit": memory.NUMA_INTERLEAVE,
    b"local_node": memory.NUMA_LOCAL,
    b"other_node": memory.NUMA_OTHER,
}


class NumastatCollector(NodeCollector):
    """Pages allocated on each node, by whether they were wanted there."""

    name = "numastat"
    tier = Tier.FAST
    sources = ("/sys/devices/system/node/node*/numastat", NODES_ONLINE)
    fields = _FIELDS
    families = tuple(_FIELDS.values())
