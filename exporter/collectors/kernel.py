"""What the kernel holds against itself: stuck tasks and taint flags.

https://docs.kernel.org/admin-guide/tainted-kernels.html
"""

from __future__ import annotations

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_HUNG = "/proc/sys/kernel/hung_task_detect_count"
_TAINTED = "/proc/sys/kernel/tainted"


class KernelCollector(AttributeCollector):
    """Two files; the count of hung tasks came with Linux 6.13."""

    name = "kernel"
    tier = Tier.SLOW
    families = (host.HUNG_TASKS, host.TAINT)
    sources = (_HUNG, _TAINTED)

    def attributes(self, context: Context) -> tuple[Attribute, ...]:
        """A count and a bit mask."""
        del context
        return Attribute(_HUNG, host.HUNG_TASKS()), Attribute(_TAINTED, host.TAINT())
