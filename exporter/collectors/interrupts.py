"""Interrupts by CPU and by class, from /proc/interrupts.

https://docs.kernel.org/core-api/irq/irq-affinity.html; the rows with names are written by arch_show_interrupts in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/arch/x86/kernel/irq.c
"""

from __future__ import annotations

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import filled, numbers

# Vectors of the kernel itself that tell something: timer, rescheduling, calls, TLB shootdowns, NMI, performance
# monitoring, machine checks, throttling, deferred work, errors of the interrupt controller.
_VECTORS = frozenset(["LOC", "RES", "CAL", "TLB", "NMI", "PMI", "MCE", "MCP", "THR", "TRM", "IWI", "ERR", "MIS"])
# On ARM the same vectors are numbered, and told by what the kernel says of them.
_SAYINGS = {b"Rescheduling": "RES", b"Function call": "CAL", b"IRQ work": "IWI", b"arch_timer": "LOC"}
_DRIVERS = ("nvidia", "amdgpu", "mlx5", "bnxt", "ena", "ice", "i40e", "nvme", "virtio")
_OTHER = "other"


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

    Most rows do not change from one second to the next, so only those that did are taken apart again.
    """

    name = "interrupts"
    tier = Tier.MEDIUM
    families = (cpu.INTERRUPTS, cpu.INTERRUPTS_BY_CLASS)
    path = "/proc/interrupts"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._rows: list[bytes] = []
        self._counts: list[list[float]] = []
        self._labels: list[bytes] = []
        self._classes: list[int] = []
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Interrupts of each CPU, then of each class."""
        rows = filled(data, self.path).splitlines()
        labels = [row.partition(b":")[0] for row in rows[1:]]
        if rows[:1] != self._rows[:1] or labels != self._labels:
            self._learn(rows, labels)
        cpus = len(rows[0].split())
        try:
            for at, (row, before) in enumerate(zip(rows[1:], self._rows[1:], strict=True)):
                if row != before:
                    self._counts[at] = self._count(row, cpus)
        except ValueError:
            self._rows = []  # some rows are new and some old: learn all of them again
            raise
        self._rows = rows
        return [
            *map(sum, zip(*filter(lambda counts: len(counts) == cpus, self._counts), strict=True)),
            *self._by_class(),
        ]

    def _by_class(self) -> list[float]:
        totals = [0.0] * (1 + max(self._classes))
        for index, counts in zip(self._classes, self._counts, strict=True):
            totals[index] += sum(counts)
        return totals

    def _count(self, row: bytes, cpus: int) -> list[float]:
        """The counts of a row, fewer than there are CPUs for what is counted once for the host."""
        words = row.partition(b":")[2].split(None, cpus)
        length = next((at for at, word in enumerate(words[:cpus]) if not word.isdigit()), min(cpus, len(words)))
        return numbers(words[:length], self.path)

    def _learn(self, rows: list[bytes], labels: list[bytes]) -> None:
        header = rows[0].split()
        if not header or not all(word.startswith(b"CPU") and word[3:].isdigit() for word in header) or not labels:
            raise ValueError(f"{self.path}: is not a table with a column for each CPU")
        if len({*header}) != len(header) or len({*labels}) != len(labels):
            raise ValueError(f"{self.path}: names a CPU or a source twice")
        counts, classes = [], []
        for row, label in zip(rows[1:], labels, strict=True):
            counts.append(self._count(row, len(header)))
            description = row.partition(b":")[2].split(None, len(counts[-1]))[len(counts[-1]) :]
            classes.append(class_of(label.strip(), b" ".join(description)))
        names = sorted({*classes})
        self._classes = [names.index(name) for name in classes]
        self._counts, self._labels, self._rows = counts, labels, rows
        per_cpu = (cpu.INTERRUPTS(int(word[3:])) for word in header)
        self.series = (*per_cpu, *map(cpu.INTERRUPTS_BY_CLASS, names))
