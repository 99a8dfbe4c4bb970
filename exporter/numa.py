"""Collectors of one file of keyed words for each NUMA node.

https://docs.kernel.org/ABI/stable/sysfs-devices-node.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from catalog.family import Family
from catalog.series import Series
from exporter.collector import Context, PartedCollector, Unavailable, or_unavailable
from exporter.parsing import KeyedWords, ParsedFiles

NODES_ONLINE = "/sys/devices/system/node/online"

Taken = tuple[ParsedFiles, list[bytes]]


class NodeCollector(PartedCollector):
    """A subclass says which file, and what its fields are: ``sources`` begins with its glob, ``fields`` maps its keys.

    ``factor`` turns the kernel's unit into ours. Nodes may come later: those of GPUs' memory do with their driver.
    """

    fields: ClassVar[Mapping[bytes, Family]]
    factor: ClassVar[float] = 1.0

    def __init__(self, context: Context) -> None:
        self._context = context
        self._online = context.host.hold(NODES_ONLINE) if context.host.exists(NODES_ONLINE) else None
        self._listed = self._now_online()
        self._files = self._opened()
        self.series = ()
        self.read()

    def _now_online(self) -> bytes:
        return self._online.read() if self._online is not None else b""

    def _opened(self) -> ParsedFiles:
        pattern, host = self.sources[0], self._context.host
        paths = host.glob(pattern)
        if not paths:
            raise Unavailable(f"{pattern}: not there; the kernel was built without NUMA")
        factors = dict.fromkeys(self.fields, self.factor)
        with or_unavailable():
            return ParsedFiles(
                (host.hold(path), KeyedWords(self._context.wanted(self._table(path)), path, factors)) for path in paths
            )

    def _table(self, path: str) -> dict[bytes, Series]:
        node = path.split("/")[-2].removeprefix("node")
        return {key: family(node) for key, family in self.fields.items()}

    def take(self) -> Taken:
        """The file of each node that is online now."""
        listed = self._now_online()
        if listed != self._listed:
            self._files.close()
            self._files, self._listed = self._opened(), listed
        return self._files, self._files.take()

    def parse(self, taken: Taken) -> list[float]:
        """The fields of each node."""
        files, contents = taken
        values = files.parse(contents)
        self.series = files.series
        return values

    def close(self) -> None:
        """Close all files."""
        self._files.close()
        if self._online is not None:
            self._online.close()
