"""Soft interrupts by CPU and type, from /proc/softirqs.

https://docs.kernel.org/filesystems/proc.html#kernel-data
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import takewhile

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.devices import CPUS_PRESENT
from exporter.parsing import cpu_numbers, cpus_of, filled, numbers, pick

_CPU = b"CPU"


class SoftirqsCollector(FileCollector):
    """The kernel lists every CPU that could ever be plugged in; only those that are there are kept."""

    name = "softirqs"
    tier = Tier.FAST
    families = (cpu.SOFTIRQS,)
    path = "/proc/softirqs"
    sources = (path, CPUS_PRESENT)

    def __init__(self, context: Context) -> None:
        self._present = context.host.hold(CPUS_PRESENT) if context.host.exists(CPUS_PRESENT) else None
        self._plugged = b""
        self._header: Sequence[bytes] = ()
        self._types: Sequence[bytes] = ()
        self._length = -1
        self._values_of = pick(())
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Counts of each type and CPU."""
        words = filled(data, self.path).split()
        cpus = len(self._header)
        plugged = self._present.read() if self._present is not None else b""
        same = len(words) == self._length and words[:cpus] == self._header and words[cpus :: cpus + 1] == self._types
        if not same or plugged != self._plugged:
            self._learn(words, plugged)
        return numbers(self._values_of(words), self.path)

    def _learn(self, words: list[bytes], plugged: bytes) -> None:
        header = list(takewhile(lambda word: word.startswith(_CPU), words))
        cpus = len(header)
        types = words[cpus :: cpus + 1]
        well_formed = cpus and types and len(set(types)) == len(types) and all(kind.endswith(b":") for kind in types)
        if not well_formed or len(words) != cpus + len(types) * (cpus + 1):
            raise ValueError(f"{self.path}: is not a table of CPUs and types")
        present = cpus_of(plugged, CPUS_PRESENT) if plugged else None
        numbered = enumerate(cpu_numbers(header, _CPU, self.path))
        kept = [(at, number) for at, number in numbered if present is None or number in present]
        cells = [(row, kind, at, number) for row, kind in enumerate(types) for at, number in kept]
        self._values_of = pick([cpus + row * (cpus + 1) + 1 + at for row, _, at, _ in cells])
        self._header, self._types, self._length, self._plugged = header, types, len(words), plugged
        self.series = tuple(cpu.SOFTIRQS(number, _label(kind)) for _, kind, _, number in cells)

    def close(self) -> None:
        """Close both files."""
        super().close()
        if self._present is not None:
            self._present.close()


def _label(word: bytes) -> str:
    return os.fsdecode(word.rstrip(b":"))
