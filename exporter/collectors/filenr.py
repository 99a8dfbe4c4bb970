"""Open file handles of the whole host, from /proc/sys/fs/file-nr.

https://docs.kernel.org/admin-guide/sysctl/fs.html#file-max-file-nr
"""

from __future__ import annotations

from catalog.families import storage
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import filled, numbers


class FilenrCollector(FileCollector):
    """Three words: handles allocated, a zero for history's sake, and the limit."""

    name = "filenr"
    tier = Tier.MEDIUM
    families = (storage.FILE_DESCRIPTORS_ALLOCATED, storage.FILE_DESCRIPTORS_LIMIT)
    path = "/proc/sys/fs/file-nr"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.series = (storage.FILE_DESCRIPTORS_ALLOCATED(), storage.FILE_DESCRIPTORS_LIMIT())

    def parse(self, data: bytes) -> list[float]:
        """Handles."""
        words = filled(data, self.path).split()
        if len(words) != 3:
            raise ValueError(f"{self.path}: has {len(words)} words, not 3")
        return numbers(words[::2], self.path)
