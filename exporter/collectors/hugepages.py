"""The pools of huge pages of each NUMA node.

https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import memory
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.numa import NODES_ONLINE

_POOLS = "/sys/devices/system/node/node*/hugepages/hugepages-*kB"
_STATES = {"nr": "total", "free": "free", "surplus": "surplus"}


class HugepagesCollector(AttributeCollector):
    """Three files a node and page size."""

    name = "hugepages"
    tier = Tier.MEDIUM
    families = (memory.HUGEPAGES,)
    sources = (*(f"{_POOLS}/{file}_hugepages" for file in _STATES), NODES_ONLINE)
    absent = "the kernel was built without huge pages"
    watches = (NODES_ONLINE,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Pages; the size is labelled as the kernel writes it (2048kB)."""
        for pool in context.host.glob(_POOLS):
            *_, node, _, directory = pool.split("/")
            size = directory.removeprefix("hugepages-")
            for file, state in _STATES.items():
                series = memory.HUGEPAGES(node.removeprefix("node"), size, state)
                yield Attribute(f"{pool}/{file}_hugepages", series)
