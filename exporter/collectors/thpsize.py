"""Transparent huge pages of each size that the kernel offers.

https://docs.kernel.org/admin-guide/mm/transhuge.html#monitoring-usage
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import pages
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/kernel/mm/transparent_hugepage"
_SIZES = f"{_DIRECTORY}/hugepages-*kB"
_FILES = {
    "anon_fault_alloc": pages.THP_SIZE_FAULT_ALLOCATIONS,
    "anon_fault_fallback": pages.THP_SIZE_FAULT_FALLBACKS,
    "split": pages.THP_SIZE_SPLITS,
    "nr_anon": pages.THP_SIZE_ANON_PAGES,
}


class ThpsizeCollector(AttributeCollector):
    """Four files a size."""

    name = "thpsize"
    tier = Tier.SLOW
    families = tuple(_FILES.values())
    sources = tuple(f"{_SIZES}/stats/{file}" for file in _FILES)
    absent = "the kernel is older than 6.10, or was built without transparent huge pages"
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The size is labelled as the kernel writes it (2048kB)."""
        for directory in context.host.glob(_SIZES):
            size = directory.rpartition("hugepages-")[2]
            for file, family in _FILES.items():
                yield Attribute(f"{directory}/stats/{file}", family(size))
