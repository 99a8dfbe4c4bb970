"""Interrupts by CPU and by class, from /proc/interrupts.

https://docs.kernel.org/core-api/irq/irq-affinity.html; the rows with names are written by arch_show_interrupts in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/arch/x86/kernel/irq.c
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add

from catalog.families import cpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context, FileCollector
from exporter.parsing import cpu_numbers, filled, numbers

# Vectors of the kernel itself that tell something: timer, rescheduling, calls, TLB shootdowns, NMI, performance
# monitoring, machine checks, throttling, deferred work, errors of the interrupt controller.
_VECTORS = frozenset(["LOC", "RES", "CAL", "TLB", "NMI", "PMI", "MCE", "MCP", "THR", "TRM", "IWI", "ERR", "MIS"])
# On ARM the same vectors are numbered, and told by what the kernel says of them.
_SAYINGS = {b"Rescheduling": "RES", b"Function call": "CAL", b"IRQ work": "IWI", b"arch_timer": "LOC"}
_DRIVERS = ("nvidia", "amdgpu", "mlx5", "bnxt", "ena", "ice", "i40e", "nvme", "virtio")
_OTHER = "other"
_MACHINE_CHECKS = b"MCE"  # MCP beside it counts looks for errors, which are made whether there are any or not


def class_of(label: bytes, description: bytes) -> str:
    """The class of a row, by its label and what stands behind its counts.

    >>> class_of(b"TLB", b"TLB shootdowns"), class_of(b"36", b"PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0")
    ('TLB', 'virtio')
    """
    name = label.decode("ascii", "replace")
    if name in _VECTORS:
        return name
    for saying, vector in _SAYINGS.items():
        if saying in description:
            return vector
    actions = description.decode("utf-8", "replace").split()[2:]
    return next((driver for driver in _DRIVERS for word in actions if word.startswith(driver)), _OTHER)


class InterruptsCollector(FileCollector):
    """A row for each source, a column for each CPU that is online: megabytes on a large host.

    Most rows do not change from one second to the next, so only those that did are taken apart again, and the sums
    move by their difference.
    """

    name = "interrupts"
    tier = Tier.MEDIUM
    families = (cpu.INTERRUPTS, cpu.INTERRUPTS_BY_CLASS, cpu.MACHINE_CHECKS)
    path = "/proc/interrupts"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._header = b""
        self._rows: list[bytes] = []
        self._told: list[tuple[bytes, bytes]] = []  # label and description of each row
        self._counts: list[list[float]] = []
        self._classes: list[int] = []
        self._by_cpu: list[float] = []
        self._by_class: list[float] = []
        self._checks = slice(0)  # of the rows, that of machine checks where there is one
        self._tells_checks = context.wants(cpu.MACHINE_CHECKS)
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Interrupts of each CPU, then of each class, then machine checks of each CPU."""
        header, *rows = filled(data, self.path).splitlines()
        if header != self._header or len(rows) != len(self._rows) or not self._update(rows):
            self._learn(header, rows)
        return [*self._by_cpu, *self._by_class, *(count for row in self._counts[self._checks] for count in row)]

    def _update(self, rows: list[bytes]) -> bool:
        """Take over the rows that changed; False where one is of another source, or counts less, than before."""
        cpus = len(self._by_cpu)
        for at, row in enumerate(rows):
            if row != self._rows[at]:
                told, counts = self._taken_apart(row, cpus)
                if told != self._told[at] or not self._move(at, counts):
                    return False
                self._rows[at], self._counts[at] = row, counts
        return True

    def _move(self, at: int, counts: list[float]) -> bool:
        """Move the sums by what a row's counts grew."""
        before = self._counts[at]
        if len(counts) != len(before):
            return False
        growth = [now - then for now, then in zip(counts, before, strict=True)]
        if not all(count >= 0.0 for count in growth):  # an impossible count is NaN and would stay in the sums
            return False
        self._by_class[self._classes[at]] += sum(growth)
        if len(counts) == len(self._by_cpu):
            self._by_cpu = list(map(add, self._by_cpu, growth))
        return True

    def _taken_apart(self, row: bytes, cpus: int) -> tuple[tuple[bytes, bytes], list[float]]:
        """Label and description, and the counts: one for each CPU, or one or none for what the whole host counts."""
        label, colon, rest = row.partition(b":")
        words = rest.split(None, cpus)
        length = next((at for at, word in enumerate(words[:cpus]) if not word.isdigit()), min(cpus, len(words)))
        description = b" ".join(words[length:])
        # A CPU that comes or goes while the file is read makes rows that are longer or shorter than the heading.
        more = description.split(None, max(1, cpus - length))[: max(1, cpus - length)]
        fits = colon and (length in (0, cpus) or (length == 1 and not more))
        if not fits or any(word.lstrip(b"-").isdigit() for word in more):
            raise ValueError(f"{self.path}: the row {label.strip()[:40]!r} does not have a count for each CPU")
        return (label.strip(), description), numbers(words[:length], self.path)

    def _learn(self, header: bytes, rows: list[bytes]) -> None:
        self._header = b""  # until all is well
        cpus = cpu_numbers(header.split(), b"CPU", self.path)
        if not cpus:
            raise ValueError(f"{self.path}: does not begin with a heading for each CPU")
        parts = [self._taken_apart(row, len(cpus)) for row in rows]
        labels = [label for (label, _), _ in parts]
        if len({*labels}) != len(labels):
            raise ValueError(f"{self.path}: names a source twice")
        classes = [class_of(*told) for told, _ in parts]
        names = sorted({*classes})
        self._told, self._counts = [told for told, _ in parts], [counts for _, counts in parts]
        self._classes = [names.index(name) for name in classes]
        sums = zip(self.series, (*self._by_cpu, *self._by_class), strict=False)
        before = {one: count for one, count in sums if count >= 0.0}  # an impossible one is NaN and would stay
        self._by_cpu, self._by_class = [0.0] * len(cpus), [0.0] * len(names)
        for index, counts in zip(self._classes, self._counts, strict=True):
            self._by_class[index] += sum(counts)
            if len(counts) == len(cpus):  # what is counted once for the host belongs to no CPU
                self._by_cpu = list(map(add, self._by_cpu, counts))
        self._header, self._rows = header, rows
        at = labels.index(_MACHINE_CHECKS) if self._tells_checks and _MACHINE_CHECKS in labels else len(labels)
        self._checks = slice(at, at + 1)
        checked = [cpu.MACHINE_CHECKS(number) for _ in self._counts[self._checks] for number in cpus]
        series = (*map(cpu.INTERRUPTS, cpus), *map(cpu.INTERRUPTS_BY_CLASS, names), *checked)
        self._count_on(before, series)
        if series != self.series:
            self.series = series

    def _count_on(self, before: Mapping[Series, float], series: Sequence[Series]) -> None:
        """Have no sum fall, as a counter may not: a driver takes its row along, and a CPU all that it counted, which
        for the classes comes back with it. What was told goes on from where it was."""
        count = len(self._by_cpu)
        same_cpus = [one for one in self.series if one.name == cpu.INTERRUPTS.name] == [*series[:count]]
        self._by_cpu = [max(now, before.get(one, now)) for one, now in zip(series, self._by_cpu, strict=False)]
        self._by_class = [
            max(now, before.get(one, now)) if same_cpus else before.get(one, now)
            for one, now in zip(series[count:], self._by_class, strict=False)
        ]
