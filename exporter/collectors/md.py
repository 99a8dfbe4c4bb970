"""Disks that RAID arrays lack.

https://docs.kernel.org/admin-guide/md.html#md-devices-in-sysfs
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import storage
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/block"
_FILES = f"{_DIRECTORY}/md*/md/degraded"


class MdCollector(AttributeCollector):
    """One file an array; those without redundancy have none."""

    name = "md"
    tier = Tier.SLOW
    families = (storage.MD_DEGRADED_DISKS,)
    sources = (_FILES,)
    absent = "no software RAID with redundancy"
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """How many disks are missing now."""
        for path in context.host.glob(_FILES):
            yield Attribute(path, storage.MD_DEGRADED_DISKS(path.split("/")[3]))
