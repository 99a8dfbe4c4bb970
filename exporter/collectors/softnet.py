"""How each CPU copes with received packets, from /proc/net/softnet_stat.

Hexadecimal, one line a CPU, no headings: softnet_seq_show in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/core/net-procfs.c
"""

from __future__ import annotations

from catalog.families import network
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import each_once, filled, plausible

_COLUMNS = {0: network.SOFTNET_PROCESSED, 1: network.SOFTNET_DROPPED, 2: network.SOFTNET_TIME_SQUEEZED}
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
        self._cpus: list[int] = []
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Packets and rounds; the kernel's 32-bit counters wrap."""
        lines = filled(data, self.path).splitlines()
        rows = [line.split() for line in lines]
        if {*map(len, lines)} != {len(rows[0]) * (_DIGITS + 1) - 1}:
            raise ValueError(f"{self.path}: its lines are not of columns of {_DIGITS} digits")
        try:
            cpus = [int(row[_CPU_AT], _HEX) if len(row) > _CPU_AT else at for at, row in enumerate(rows)]
            values = [float(int(row[at], _HEX)) for at in self._columns for row in rows]
        except (ValueError, IndexError, OverflowError):
            raise ValueError(f"{self.path}: its lines are not of hexadecimal columns") from None
        if cpus != self._cpus or not self.series:
            self._bind(cpus)
        return plausible(values)

    def _bind(self, cpus: list[int]) -> None:
        numbered = each_once(cpus, self.path)
        self._cpus = cpus
        self.series = tuple(family(number) for family in self._columns.values() for number in numbered)
