"""Time that tasks ran and waited on each CPU, from /proc/schedstat.

https://docs.kernel.org/scheduler/sched-stats.html
"""

from __future__ import annotations

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import cpu_numbers, filled, numbers

_NANOSECOND = 1e-9
# By place in a line "cpuN": the first field of the format's description stands at 1.
_FIELDS = {
    7: (cpu.SCHED_RUNNING_SECONDS, _NANOSECOND),
    8: (cpu.SCHED_WAITING_SECONDS, _NANOSECOND),
    9: (cpu.SCHED_TIMESLICES, 1.0),
}


class SchedstatCollector(FileCollector):
    """Lines of CPUs, with lines of their scheduling domains in between. Kernels built with SCHEDSTATS have it."""

    name = "schedstat"
    tier = Tier.MEDIUM
    families = tuple(family for family, _ in _FIELDS.values())
    path = "/proc/schedstat"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._fields = {at: field for at, field in _FIELDS.items() if context.wants(field[0])}
        self._cpus: list[bytes] = []
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Seconds and slices."""
        rows = [line.split() for line in filled(data, self.path).splitlines() if line.startswith(b"cpu")]
        cpus = [row[0] for row in rows]
        if not rows or any(len(row) <= max(_FIELDS) for row in rows):
            raise ValueError(f"{self.path}: its lines cpu do not have nine fields")
        if cpus != self._cpus:
            self._bind(cpus)
        values: list[float] = []
        for at, (_, factor) in self._fields.items():
            values += [value * factor for value in numbers([row[at] for row in rows], self.path)]
        return values

    def _bind(self, cpus: list[bytes]) -> None:
        numbered = cpu_numbers(cpus, b"cpu", self.path)
        self._cpus = cpus
        self.series = tuple(family(number) for family, _ in self._fields.values() for number in numbered)
