"""Model and microcode of each CPU package, from /proc/cpuinfo.

https://docs.kernel.org/arch/x86/cpuinfo.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import cpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector

# In the order of the family's labels; the second names are those of ARM.
_KEYS = (
    ("physical id",),
    ("vendor_id", "CPU implementer"),
    ("cpu family", "CPU architecture"),
    ("model", "CPU part"),
    ("stepping", "CPU revision"),
    ("microcode",),
    ("model name",),
)


class CpuinfoCollector(ConstantCollector):
    """CPUs of one package are equal and give one series; a CPU that names no package is taken for package 0."""

    name = "cpuinfo"
    tier = Tier.STATIC
    families = (cpu.INFO,)
    sources = ("/proc/cpuinfo",)

    def constants(self, context: Context) -> Iterator[Series]:
        """One series a package."""
        for block in context.host.text(self.sources[0]).split("\n\n"):
            pairs = (line.partition(":") for line in block.splitlines())
            told = {key.strip(): value.strip() for key, _, value in pairs}
            if "processor" in told:
                package, *rest = (next((told[key] for key in keys if key in told), "") for keys in _KEYS)
                yield cpu.INFO(package or "0", *rest)
