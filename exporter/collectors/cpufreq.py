"""Bounds of each CPU's frequency.

https://docs.kernel.org/admin-guide/pm/cpufreq.html#policy-interface-in-sysfs; base_frequency is of
https://docs.kernel.org/admin-guide/pm/intel_pstate.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import cpu
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.devices import CPUS_ONLINE

_POLICIES = "/sys/devices/system/cpu/cpu*/cpufreq"
_KILOHERTZ = 1e3
_LIMITS = {
    "cpuinfo_min_freq": "hardware_min",
    "cpuinfo_max_freq": "hardware_max",
    "base_frequency": "base",
    "scaling_max_freq": "policy_max",
}


class CpufreqCollector(AttributeCollector):
    """Four files a CPU. The frequency of the instant is not asked for: some drivers measure it for 20 ms."""

    name = "cpufreq"
    tier = Tier.SLOW
    families = (cpu.FREQUENCY_LIMIT_HERTZ,)
    sources = (*(f"{_POLICIES}/{file}" for file in _LIMITS), CPUS_ONLINE)
    absent = "no driver sets frequencies, as in most virtual machines"
    watches = (CPUS_ONLINE,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The bounds that the CPU's driver knows."""
        for policy in context.host.glob(_POLICIES):
            number = policy.split("/")[-2].removeprefix("cpu")
            for file, limit in _LIMITS.items():
                yield Attribute(f"{policy}/{file}", cpu.FREQUENCY_LIMIT_HERTZ(number, limit), _KILOHERTZ)
