"""Pages that hardware errors poisoned, by NUMA node and by how their recovery ended.

https://docs.kernel.org/ABI/stable/sysfs-devices-node.html, since Linux 6.3
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import memoryerrors
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_NODES = "/sys/devices/system/node"
_DIRECTORIES = f"{_NODES}/node*/memory_failure"
_RESULTS = ("recovered", "delayed", "ignored", "failed")  # the file total is their sum


class MemoryfailureCollector(AttributeCollector):
    """Four files a node."""

    name = "memoryfailure"
    tier = Tier.SLOW
    families = (memoryerrors.FAILURE_PAGES,)
    sources = tuple(f"{_DIRECTORIES}/{result}" for result in _RESULTS)
    absent = "the kernel is older than 6.3, or was built without recovery from memory errors"
    watches = (_NODES,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Pages since the kernel started."""
        for directory in context.host.glob(_DIRECTORIES):
            node = directory.split("/")[-2].removeprefix("node")
            for result in _RESULTS:
                yield Attribute(f"{directory}/{result}", memoryerrors.FAILURE_PAGES(node, result))
