"""Soft interrupts by CPU and type, from /proc/softirqs.

https://docs.kernel.org/filesystems/proc.html#kernel-data
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import cpus_of, filled, numbers, pick

_CPU = re.compile(rb"CPU(\d+)")
_PRESENT = "/sys/devices/system/cpu/present"


class SoftirqsCollector(FileCollector):
    """The kernel lists every CPU that could ever be plugged in; only those that are there are kept."""

    name = "softirqs"
    tier = Tier.FAST
    families = (cpu.SOFTIRQS,)
    path = "/proc/softirqs"
    sources = (path, _PRESENT)

    def __init__(self, context: Context) -> None:
        present = context.host.text(_PRESENT, "").encode()
        self._present = cpus_of(present, _PRESENT) if present else None
        self._header: Sequence[bytes] = ()
        self._types: Sequence[bytes] = ()
        self._length = -1
        self._values_of = pick(())
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Counts of each type and CPU."""
        words = filled(data, self.path).split()
        cpus = len(self._header)
        same = len(words) == self._length and words[:cpus] == self._header and words[cpus :: cpus + 1] == self._types
        if not same:
            self._learn(words)
        return numbers(self._values_of(words), self.path)

    def _learn(self, words: list[bytes]) -> None:
        header = []
        for word in words:
            if not _CPU.fullmatch(word):
                break
            header.append(word)
        cpus = len(header)
        types = words[cpus :: cpus + 1]
        well_formed = cpus and types and len(set(types)) == len(types) and all(kind.endswith(b":") for kind in types)
        if not well_formed or len(words) != cpus + len(types) * (cpus + 1) or len(set(header)) != cpus:
            raise ValueError(f"{self.path}: is not a table of CPUs and types")
        numbered = [(at, int(name[3:])) for at, name in enumerate(header)]
        kept = [(at, number) for at, number in numbered if self._present is None or number in self._present]
        cells = [(row, kind, at, number) for row, kind in enumerate(types) for at, number in kept]
        self._values_of = pick([cpus + row * (cpus + 1) + 1 + at for row, _, at, _ in cells])
        self._header, self._types, self._length = header, types, len(words)
        self.series = tuple(cpu.SOFTIRQS(number, _label(kind)) for _, kind, _, number in cells)


def _label(word: bytes) -> str:
    return word.rstrip(b":").decode("ascii", "replace")
