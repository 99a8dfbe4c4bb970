"""Free blocks of memory by size, from /proc/buddyinfo.

https://docs.kernel.org/filesystems/proc.html#kernel-data: a line for each zone of a NUMA node, a column for each order.
"""

from __future__ import annotations

import os
from itertools import chain

from catalog.families import pages
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import filled, numbers

_HEAD = 4  # Node 0, zone Normal
_DIGITS = 4  # of a node: the kernel knows 1024 at most


class BuddyinfoCollector(FileCollector):
    """Order of values: zones, orders within a zone."""

    name = "buddyinfo"
    tier = Tier.SLOW
    families = (pages.FREE_BLOCKS,)
    path = "/proc/buddyinfo"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._layout: tuple[list[list[bytes]], int] | None = None
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Blocks that are free now."""
        lines = filled(data, self.path).splitlines()
        rows = [line.split() for line in lines]
        widths = {*map(len, rows)}
        if len(widths) != 1 or max(widths) <= _HEAD or not all(line.endswith(b" ") for line in lines):
            raise ValueError(f"{self.path}: its lines are not of one length, each number with a blank behind it")
        values = numbers(chain.from_iterable(row[_HEAD:] for row in rows), self.path)
        layout = ([row[:_HEAD] for row in rows], max(widths))
        if layout != self._layout:
            self._bind(*layout)
            self._layout = layout
        return values

    def _bind(self, heads: list[list[bytes]], width: int) -> None:
        zones = [(node.removesuffix(b","), zone) for _, node, _, zone in heads]
        words = {(first, third) for first, _, third, _ in heads}
        if words != {(b"Node", b"zone")} or not all(node.isdigit() and len(node) <= _DIGITS for node, _ in zones):
            raise ValueError(f"{self.path}: has a line that is not of a zone of a node")
        if len({*zones}) != len(zones):
            raise ValueError(f"{self.path}: names a zone twice")
        self.series = tuple(
            pages.FREE_BLOCKS(node.decode(), os.fsdecode(zone), order)
            for node, zone in zones
            for order in range(width - _HEAD)
        )
