"""Requests, bytes and time of each block device, from /proc/diskstats.

https://docs.kernel.org/admin-guide/iostats.html
"""

from __future__ import annotations

from catalog.devices import wanted_disk
from catalog.families import storage
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import NamedRows

_NAME_AT = 2
_SECTOR_BYTES = 512.0
_MILLISECOND = 0.001
# By the number of the field, as the kernel's page on iostats counts them: the first one follows the name.
_FIELDS = {
    1: (storage.READS_COMPLETED, 1.0),
    2: (storage.READS_MERGED, 1.0),
    3: (storage.READ_BYTES, _SECTOR_BYTES),
    4: (storage.READ_TIME_SECONDS, _MILLISECOND),
    5: (storage.WRITES_COMPLETED, 1.0),
    6: (storage.WRITES_MERGED, 1.0),
    7: (storage.WRITTEN_BYTES, _SECTOR_BYTES),
    8: (storage.WRITE_TIME_SECONDS, _MILLISECOND),
    9: (storage.IO_NOW, 1.0),
    10: (storage.IO_TIME_SECONDS, _MILLISECOND),
    11: (storage.IO_TIME_WEIGHTED_SECONDS, _MILLISECOND),
    12: (storage.DISCARDS_COMPLETED, 1.0),
    13: (storage.DISCARDS_MERGED, 1.0),
    14: (storage.DISCARDED_BYTES, _SECTOR_BYTES),
    15: (storage.DISCARD_TIME_SECONDS, _MILLISECOND),
    16: (storage.FLUSHES_COMPLETED, 1.0),
    17: (storage.FLUSH_TIME_SECONDS, _MILLISECOND),
}
_OLDER = (11, 15)  # fields before Linux 4.18 and before 5.5


def _fits(width: int) -> bool:
    """Whether a row may have so many words: one that lacks some would name a device by a number."""
    fields = width - _NAME_AT - 1
    return fields in _OLDER or fields >= max(_FIELDS)


class DiskstatsCollector(FileCollector):
    """Older kernels have fewer fields, the same number for all devices. A host without disks has an empty file."""

    name = "diskstats"
    tier = Tier.FAST
    families = tuple(family for family, _ in _FIELDS.values())
    path = "/proc/diskstats"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        columns = {_NAME_AT + field: column for field, column in _FIELDS.items() if context.wants(column[0])}
        self._rows = NamedRows(columns, self.path, fits=_fits, name_at=_NAME_AT, keeps=wanted_disk)
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Counts, bytes and seconds."""
        values = self._rows(data)
        self.series = self._rows.series
        return values
