"""Where each CPU sits.

https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from catalog.families import cpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector

_CPUS = "/sys/devices/system/cpu/cpu*/topology"
_NODES = "/sys/devices/system/node/node*/cpu[0-9]*"
_NODE_OF_CPU = re.compile(r".*/node(\d+)/cpu(\d+)")


class CputopologyCollector(ConstantCollector):
    """Constant until a CPU is plugged in; without NUMA all CPUs are on node 0."""

    name = "cputopology"
    tier = Tier.STATIC
    families = (cpu.TOPOLOGY_INFO,)
    sources = (f"{_CPUS}/core_id", f"{_CPUS}/physical_package_id", f"{_CPUS}/die_id", _NODES)

    def constants(self, context: Context) -> Iterator[Series]:
        """One series a CPU."""
        matches = filter(None, map(_NODE_OF_CPU.fullmatch, context.host.glob(_NODES)))
        nodes = {match[2]: match[1] for match in matches}
        for topology in context.host.glob(_CPUS):
            number = topology.split("/")[-2].removeprefix("cpu")
            core, package, die = (
                context.host.text(f"{topology}/{file}", "") for file in ("core_id", "physical_package_id", "die_id")
            )
            yield cpu.TOPOLOGY_INFO(number, core, package, die, nodes.get(number, "0"))
