"""Time, entries and refusals of each CPU's idle states.

https://docs.kernel.org/admin-guide/pm/cpuidle.html#representation-of-idle-states
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import cpu
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.devices import CPUS_ONLINE

_STATES = "/sys/devices/system/cpu/cpu*/cpuidle/state*"
_MICROSECOND = 1e-6


class CpuidleCollector(AttributeCollector):
    """States by the name that their driver gives them (POLL, C1, C6, …)."""

    name = "cpuidle"
    tier = Tier.MEDIUM
    families = (cpu.IDLE_STATE_SECONDS, cpu.IDLE_STATE_ENTRIES, cpu.IDLE_STATE_REJECTED)
    sources = (*(f"{_STATES}/{file}" for file in ("name", "time", "usage", "rejected")), CPUS_ONLINE)
    absent = "no idle driver"
    watches = (CPUS_ONLINE,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Three files a state, of which kernels before 5.10 lack one."""
        for state in context.host.glob(_STATES):
            number = state.split("/")[-3].removeprefix("cpu")
            label = context.host.text(f"{state}/name", state.rpartition("/")[2])
            yield Attribute(f"{state}/time", cpu.IDLE_STATE_SECONDS(number, label), _MICROSECOND)
            if context.wants(cpu.IDLE_STATE_ENTRIES):
                yield Attribute(f"{state}/usage", cpu.IDLE_STATE_ENTRIES(number, label))
            if context.wants(cpu.IDLE_STATE_REJECTED):
                yield Attribute(f"{state}/rejected", cpu.IDLE_STATE_REJECTED(number, label))
