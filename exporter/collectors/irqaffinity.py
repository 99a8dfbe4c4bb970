"""Which CPUs serve interrupts, summed up: https://docs.kernel.org/core-api/irq/irq-affinity.html."""

from __future__ import annotations

from collections import Counter

from catalog.families import cpu
from catalog.family import Tier
from exporter.collector import Collector, Context, Unavailable, or_unavailable
from exporter.host import Host
from exporter.parsing import cpus_of

_ALLOWED, _EFFECTIVE = "smp_affinity_list", "effective_affinity_list"
_FILES = f"/proc/irq/*/{_ALLOWED}"


class IrqaffinityCollector(Collector):
    """As it is when the exporter starts: daemons move interrupts, and each move would be another series.

    Kernels that do not tell where an interrupt goes tell where it may go.
    """

    name = "irqaffinity"
    tier = Tier.STATIC
    families = (cpu.INTERRUPT_AFFINITY_INFO,)
    sources = (_FILES, f"/proc/irq/*/{_EFFECTIVE}")

    def __init__(self, context: Context) -> None:
        with or_unavailable():
            interrupts, bound, served = _counted(context.host)
        if not served:
            raise Unavailable(f"nothing at {_FILES}")
        busiest, count = min(served.items(), key=lambda pair: (-pair[1], pair[0]))
        self.series = (cpu.INTERRUPT_AFFINITY_INFO(interrupts, bound, busiest, count),)

    def read(self) -> list[float]:
        """The constant 1."""
        return [1.0]


def _counted(host: Host) -> tuple[int, int, Counter[int]]:
    """How many interrupts there are, how many are bound to one CPU, and how many each CPU serves."""
    bound, served = 0, Counter[int]()
    paths = host.glob(_FILES)
    for path in paths:
        allowed = cpus_of(host.read(path), path)
        bound += len(allowed) == 1
        effective = path.replace(_ALLOWED, _EFFECTIVE)
        told = host.text(effective, "").encode()
        served.update(cpus_of(told, effective) if told.strip() else allowed)
    return len(paths), bound, served
