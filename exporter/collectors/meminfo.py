"""What memory is used for, from /proc/meminfo.

https://docs.kernel.org/filesystems/proc.html#meminfo
"""

from __future__ import annotations

from catalog.families import memory
from catalog.family import Tier
from exporter.collector import Context, FileCollector, families_of
from exporter.parsing import KeyedWords

_BYTES_PER_KIB = 1024.0
_FIELDS = {
    b"MemTotal:": memory.TOTAL_BYTES(),
    b"MemFree:": memory.FREE_BYTES(),
    b"MemAvailable:": memory.AVAILABLE_BYTES(),
    b"Buffers:": memory.BUFFERS_BYTES(),
    b"Cached:": memory.CACHED_BYTES(),
    b"Active(anon):": memory.ACTIVE_ANON_BYTES(),
    b"Inactive(anon):": memory.INACTIVE_ANON_BYTES(),
    b"Active(file):": memory.ACTIVE_FILE_BYTES(),
    b"Inactive(file):": memory.INACTIVE_FILE_BYTES(),
    b"Unevictable:": memory.UNEVICTABLE_BYTES(),
    b"Mlocked:": memory.MLOCKED_BYTES(),
    b"SwapTotal:": memory.SWAP_TOTAL_BYTES(),
    b"SwapFree:": memory.SWAP_FREE_BYTES(),
    b"Dirty:": memory.DIRTY_BYTES(),
    b"Writeback:": memory.WRITEBACK_BYTES(),
    b"AnonPages:": memory.ANON_BYTES(),
    b"Mapped:": memory.MAPPED_BYTES(),
    b"Shmem:": memory.SHMEM_BYTES(),
    b"SReclaimable:": memory.SLAB_RECLAIMABLE_BYTES(),
    b"SUnreclaim:": memory.SLAB_UNRECLAIMABLE_BYTES(),
    b"KernelStack:": memory.KERNEL_STACK_BYTES(),
    b"PageTables:": memory.PAGE_TABLES_BYTES(),
    b"Committed_AS:": memory.COMMITTED_BYTES(),
    b"HardwareCorrupted:": memory.HARDWARE_CORRUPTED_BYTES(),
    b"AnonHugePages:": memory.ANON_HUGEPAGES_BYTES(),
    b"Hugetlb:": memory.HUGETLB_BYTES(),
    b"SwapCached:": memory.SWAP_CACHED_BYTES(),
    b"CommitLimit:": memory.COMMIT_LIMIT_BYTES(),
    b"VmallocUsed:": memory.VMALLOC_USED_BYTES(),
    b"Percpu:": memory.PERCPU_BYTES(),
    b"Zswapped:": memory.ZSWAPPED_BYTES(),
}


class MeminfoCollector(FileCollector):
    """Fields in the order of the table."""

    name = "meminfo"
    tier = Tier.FAST
    families = families_of(_FIELDS.values())
    path = "/proc/meminfo"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._words = KeyedWords(context.wanted(_FIELDS), self.path, dict.fromkeys(_FIELDS, _BYTES_PER_KIB))
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Bytes."""
        values = self._words(data)
        self.series = self._words.series
        return values
