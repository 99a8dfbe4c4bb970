"""How far NUMA nodes are from one another.

https://docs.kernel.org/ABI/stable/sysfs-devices-node.html
"""

from __future__ import annotations

from collections.abc import Sequence

from catalog.families import numa
from catalog.family import Tier
from exporter.collector import Collector, Context, Unavailable, or_unavailable
from exporter.parsing import numbers

_FILES = "/sys/devices/system/node/node*/distance"


class NumadistanceCollector(Collector):
    """A file a node with a number for each node that is online, itself included."""

    name = "numadistance"
    tier = Tier.STATIC
    families = (numa.NUMA_DISTANCE,)
    sources = (_FILES,)

    def __init__(self, context: Context) -> None:
        paths = context.host.glob(_FILES)
        if not paths:
            raise Unavailable(f"nothing at {_FILES}: the kernel was built without NUMA")
        nodes = [path.split("/")[-2].removeprefix("node") for path in paths]
        self._distances: list[float] = []
        for path in paths:
            with or_unavailable():
                words = context.host.read(path).split()
            if len(words) != len(nodes):
                raise ValueError(f"{path}: does not have a number for each of {len(nodes)} nodes")
            self._distances += numbers(words, path)
        self.series = tuple(numa.NUMA_DISTANCE(node, to) for node in nodes for to in nodes)

    def read(self) -> Sequence[float]:
        """Node by node."""
        return self._distances
