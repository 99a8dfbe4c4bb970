"""How each CPU copes with received packets, from /proc/net/softnet_stat.

Hexadecimal, one line a CPU, no headings: softnet_seq_show in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/core/net-procfs.c
"""

from __future__ import annotations

from catalog.families import softnet
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import each_once, filled, plausible

_COLUMNS = {
    0: softnet.SOFTNET_PROCESSED,
    1: softnet.SOFTNET_DROPPED,
    2: softnet.SOFTNET_TIME_SQUEEZED,
    11: softnet.SOFTNET_BACKLOG_PACKETS,
}
_CPU_AT = 12  # since Linux 5.14; before that the lines of CPUs that are offline are missing and cannot be told
_HEX, _DIGITS = 16, 8


class SoftnetCollector(FileCollector):
    """Order of values: columns, CPUs within a column."""

    name = "softnet"
    tier = Tier.FAST
    families = tuple(_COLUMNS.values())
    path = "/proc/net/softnet_stat"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._columns = {at: family for at, family in _COLUMNS.items() if context.wants(family)}
        self._layout: tuple[list[int], int] | None = None
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Packets and rounds; the kernel's 32-bit counters wrap."""
        lines = filled(data, self.path).splitlines()
        rows = [line.split() for line in lines]
        if {*map(len, lines)} != {len(rows[0]) * (_DIGITS + 1) - 1}:
            raise ValueError(f"{self.path}: its lines are not of columns of {_DIGITS} digits")
        try:
            cpus = [int(row[_CPU_AT], _HEX) if len(row) > _CPU_AT else at for at, row in enumerate(rows)]
            values = [float(int(row[at], _HEX)) for at in self._told(len(rows[0])) for row in rows]
        except (ValueError, IndexError, OverflowError):
            raise ValueError(f"{self.path}: its lines are not of hexadecimal columns") from None
        layout = (cpus, len(rows[0]))
        if layout != self._layout:
            self._bind(cpus, self._told(len(rows[0])))
            self._layout = layout
        return plausible(values)

    def _told(self, width: int) -> list[int]:
        """The columns that are told of rows of so many words."""
        return [at for at in self._columns if at <= _CPU_AT - 2 or width > _CPU_AT]

    def _bind(self, cpus: list[int], columns: list[int]) -> None:
        numbered = each_once(cpus, self.path)
        self.series = tuple(self._columns[at](number) for at in columns for number in numbered)
