"""Which CPUs serve interrupts, summed up: https://docs.kernel.org/core-api/irq/irq-affinity.html."""

from __future__ import annotations

from collections import Counter

from catalog.families import cpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector
from exporter.parsing import cpus_of

_ALLOWED, _EFFECTIVE = "smp_affinity_list", "effective_affinity_list"


class IrqaffinityCollector(ConstantCollector):
    """As it is when the exporter starts. Kernels that do not tell where an interrupt goes tell where it may go."""

    name = "irqaffinity"
    tier = Tier.STATIC
    families = (cpu.INTERRUPT_AFFINITY_INFO,)
    sources = (f"/proc/irq/*/{_ALLOWED}", f"/proc/irq/*/{_EFFECTIVE}")

    def constants(self, context: Context) -> tuple[Series, ...]:
        """One series, none without interrupts."""
        bound, served = 0, Counter[int]()
        paths = context.host.glob(self.sources[0])
        for path in paths:
            allowed = cpus_of(context.host.read(path), path)
            bound += len(allowed) == 1
            effective = path.replace(_ALLOWED, _EFFECTIVE)
            told = context.host.text(effective, "").encode()
            served.update(cpus_of(told, effective) if told.strip() else allowed)
        if not served:
            return ()
        busiest, count = min(served.items(), key=lambda pair: (-pair[1], pair[0]))
        return (cpu.INTERRUPT_AFFINITY_INFO(len(paths), bound, busiest, count),)
