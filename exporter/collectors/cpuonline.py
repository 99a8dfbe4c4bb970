"""Which of the CPUs that are plugged in are online.

https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Collector, Context, or_unavailable
from exporter.devices import CPUS_ONLINE, CPUS_PRESENT
from exporter.parsing import cpus_of


class CpuonlineCollector(Collector):
    """Two lists of CPUs."""

    name = "cpuonline"
    tier = Tier.SLOW
    families = (cpu.ONLINE,)
    sources = (CPUS_PRESENT, CPUS_ONLINE)

    def __init__(self, context: Context) -> None:
        with or_unavailable():
            self._present, self._online = context.host.hold(CPUS_PRESENT), context.host.hold(CPUS_ONLINE)
        self._listed: list[int] = []
        self.series = ()
        self.read()

    def read(self) -> list[float]:
        """1 for a CPU that is online, 0 for one that is not."""
        present = sorted(cpus_of(self._present.read(), CPUS_PRESENT))
        if present != self._listed:
            self._listed, self.series = present, tuple(map(cpu.ONLINE, present))
        online = cpus_of(self._online.read(), CPUS_ONLINE)
        return [float(number in online) for number in present]

    def close(self) -> None:
        """Close both files."""
        self._present.close()
        self._online.close()
