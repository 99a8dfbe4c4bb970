"""How many requests the block layer queues for each device.

https://docs.kernel.org/admin-guide/abi-stable-files.html#abi-file-stable-sysfs-block
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.devices import wanted_disk
from catalog.families import storage
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/block"


class BlockqueueCollector(AttributeCollector):
    """One file a disk."""

    name = "blockqueue"
    tier = Tier.SLOW
    families = (storage.QUEUE_DEPTH_LIMIT,)
    sources = (f"{_DIRECTORY}/*/queue/nr_requests",)
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Requests."""
        for device in filter(wanted_disk, context.host.names(_DIRECTORY)):
            yield Attribute(f"{_DIRECTORY}/{device}/queue/nr_requests", storage.QUEUE_DEPTH_LIMIT(device))
