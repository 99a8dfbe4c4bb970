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


class NodeCollector(PartedCollector):
    """A subclass says which file, and what its fields are: ``sources`` is one glob, ``fields`` maps keys to families.

    ``factor`` turns the kernel's unit into ours.
    """

    fields: ClassVar[Mapping[bytes, Family]]
    factor: ClassVar[float] = 1.0

    def __init__(self, context: Context) -> None:
        (pattern,) = self.sources
        paths = context.host.glob(pattern)
        if not paths:
            raise Unavailable(f"{pattern}: not there; the kernel was built without NUMA")
        factors = dict.fromkeys(self.fields, self.factor)
        with or_unavailable():
            self._files = ParsedFiles(
                (context.host.hold(path), KeyedWords(context.wanted(self._table(path)), path, factors))
                for path in paths
            )
        self.series = ()
        self.read()

    def _table(self, path: str) -> dict[bytes, Series]:
        node = path.split("/")[-2].removeprefix("node")
        return {key: family(node) for key, family in self.fields.items()}

    def take(self) -> list[bytes]:
        """The file of each node."""
        return self._files.take()

    def parse(self, taken: list[bytes]) -> list[float]:
        """The fields of each node."""
        values = self._files.parse(taken)
        self.series = self._files.series
        return values

    def close(self) -> None:
        """Close all files."""
        self._files.close()
