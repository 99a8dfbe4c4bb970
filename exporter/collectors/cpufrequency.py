"""Frequency of each CPU at this moment.

https://docs.kernel.org/admin-guide/pm/cpufreq.html#policy-interface-in-sysfs
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
_FILES = ("cpuinfo_avg_freq", "scaling_cur_freq")  # the first since Linux 6.14, without a value of an idle CPU


class CpufrequencyCollector(AttributeCollector):
    """One file a CPU, apart from the bounds: some drivers measure for 20 ms when they are asked."""

    name = "cpufrequency"
    tier = Tier.SLOW
    families = (cpu.FREQUENCY_HERTZ,)
    sources = (*(f"{_POLICIES}/{file}" for file in _FILES), CPUS_ONLINE)
    absent = "no driver sets frequencies, as in most virtual machines"
    watches = (CPUS_ONLINE,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """What was measured, or else what the driver asked for last."""
        for policy in context.host.glob(_POLICIES):
            number = policy.split("/")[-2].removeprefix("cpu")
            for file in _FILES:
                yield Attribute(f"{policy}/{file}", cpu.FREQUENCY_HERTZ(number), _KILOHERTZ)
