"""Load averages, from /proc/loadavg.

https://docs.kernel.org/filesystems/proc.html#kernel-data
"""

from __future__ import annotations

from catalog.families import host
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import filled, numbers

_WINDOWS = ("1m", "5m", "15m")


class LoadavgCollector(FileCollector):
    """The first three words of one line."""

    name = "loadavg"
    tier = Tier.MEDIUM
    families = (host.LOAD_AVERAGE,)
    path = "/proc/loadavg"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.series = tuple(map(host.LOAD_AVERAGE, _WINDOWS))

    def parse(self, data: bytes) -> list[float]:
        """Tasks."""
        words = filled(data, self.path).split()
        if len(words) != 5:
            raise ValueError(f"{self.path}: has {len(words)} words, not 5")
        return numbers(words[: len(_WINDOWS)], self.path)
