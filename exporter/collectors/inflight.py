"""Reads and writes that each device works on at this instant.

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


def _reads(data: bytes) -> float:
    reads, _ = data.split()
    return float(reads)


def _writes(data: bytes) -> float:
    _, writes = data.split()
    return float(writes)


class InflightCollector(AttributeCollector):
    """One file a disk, with two numbers."""

    name = "inflight"
    tier = Tier.MEDIUM
    families = (storage.INFLIGHT_REQUESTS,)
    sources = (f"{_DIRECTORY}/*/inflight",)
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Requests by direction."""
        for device in filter(wanted_disk, context.host.names(_DIRECTORY)):
            path = f"{_DIRECTORY}/{device}/inflight"
            yield Attribute(path, storage.INFLIGHT_REQUESTS(device, "read"), convert=_reads)
            yield Attribute(path, storage.INFLIGHT_REQUESTS(device, "write"), convert=_writes)
