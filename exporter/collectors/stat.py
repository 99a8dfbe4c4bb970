"""CPU time by mode and the kernel's overall counts, from /proc/stat.

https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import gt

from catalog.families import cpu, host
from catalog.family import Tier
from exporter.collector import Context, FileCollector, families_of
from exporter.parsing import KeyedWords, cpu_numbers, numbers

_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_IDLE_AT = _MODES.index("idle")  # iowait is the next
_COUNTED_ANEW_S = 3.0
_GUEST_MODES = ("user", "nice")  # columns behind those of the modes that they are part of
_COUNTS = {
    b"ctxt": host.CONTEXT_SWITCHES(),
    b"btime": host.BOOT_TIME_SECONDS(),
    b"processes": host.FORKS(),
    b"procs_running": host.PROCS_RUNNING(),
    b"procs_blocked": host.PROCS_BLOCKED(),
}


class StatCollector(FileCollector):
    """Order of values: modes, CPUs within a mode, those of guests likewise, interrupts, then the counts."""

    name = "stat"
    tier = Tier.FAST
    families = (cpu.SECONDS, cpu.GUEST_SECONDS, host.INTERRUPTS, *families_of(_COUNTS.values()))
    path = "/proc/stat"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._counts = KeyedWords(_COUNTS, self.path)
        self._columns = [(cpu.SECONDS, mode) for mode in _MODES]
        if context.wants(cpu.GUEST_SECONDS):
            self._columns += [(cpu.GUEST_SECONDS, mode) for mode in _GUEST_MODES]
        self._ticks_per_second = context.host.ticks_per_second
        self._cpus: Sequence[bytes] = ()
        self._numbers: Sequence[int] = ()
        self._length, self._width = -1, 1
        self._layout: object = None
        self._idle: list[float] = []
        super().__init__(context)

    @staticmethod
    def glance(data: bytes) -> tuple[float, float]:
        """Idle time of all CPUs, and context switches."""
        counts_at = data.index(b"\nctxt ") + 6
        return float(data[: data.index(b"\n")].split()[4]), float(data[counts_at : data.index(b"\n", counts_at)])

    def parse(self, data: bytes) -> list[float]:
        """Seconds of each mode and CPU, and counts."""
        # The line of interrupts has a word for each of hundreds of vectors: it is the one line not taken apart.
        intr_at = data.find(b"\nintr ")
        counts_at = data.find(b"\nctxt ", intr_at)
        if intr_at < 0 or counts_at < 0:
            raise ValueError(f"{self.path}: has no line intr, or none ctxt after it")
        words = data[:intr_at].split()
        if len(words) != self._length or words[:: self._width] != self._cpus:
            self._learn(words)
        width, ticks = self._width, self._ticks_per_second
        columns = range(width + 1, width + 1 + min(len(self._columns), width - 1))
        values = [value / ticks for value in numbers([word for at in columns for word in words[at::width]], self.path)]
        self._hold_idle(values)
        values += numbers(data[intr_at + 6 : intr_at + 40].split(None, 1)[:1], self.path)
        values += self._counts(data[counts_at + 1 :])
        if self._counts.series is not self._layout:
            self._bind()
        return values

    def _hold_idle(self, values: list[float]) -> None:
        """Let no idle time fall a little, which would pass for a counter that began anew: proc_stat(5) says it may."""
        count = len(self._cpus) - 1
        idle = slice(_IDLE_AT * count, min(_IDLE_AT + 2, self._width - 1) * count)
        now, before = values[idle], self._idle
        if len(before) == len(now) and any(map(gt, before, now)):
            values[idle] = now = [
                then if new < then < new + _COUNTED_ANEW_S else new for new, then in zip(now, before, strict=True)
            ]
        self._idle = now

    def _learn(self, words: list[bytes]) -> None:
        """The first line sums the CPUs up; it has as many columns as those of each CPU."""
        width = next((at for at, word in enumerate(words) if at and word.startswith(b"cpu")), 0)
        cpus = words[:: width or 1]
        if width < 5 or len(words) % width or cpus[0] != b"cpu":
            raise ValueError(f"{self.path}: its lines cpu are not of one known format")
        self._numbers = cpu_numbers(cpus[1:], b"cpu", self.path)
        self._cpus, self._width, self._length = cpus, width, len(words)
        self._layout, self._idle = None, []

    def _bind(self) -> None:
        self._layout = self._counts.series
        columns = self._columns[: self._width - 1]
        seconds = (family(number, mode) for family, mode in columns for number in self._numbers)
        self.series = (*seconds, host.INTERRUPTS(), *self._counts.series)
