"""State and speed of RDMA ports.

https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html
"""

from __future__ import annotations

from catalog.families import rdma
from catalog.family import Tier
from exporter.rdma import PORTS, RdmaCollector

_BYTES_PER_GIGABIT = 125e6
_FIELDS = {"state": (rdma.RDMA_STATE, 1.0), "rate": (rdma.RDMA_RATE_BYTES_PER_SECOND, _BYTES_PER_GIGABIT)}


class RdmalinkCollector(RdmaCollector):
    """Two files a port."""

    name = "rdmalink"
    tier = Tier.SLOW
    fields = _FIELDS
    families = tuple(family for family, _ in _FIELDS.values())
    sources = tuple(f"{PORTS}/{file}" for file in _FIELDS)

    def number(self, data: bytes) -> float:
        """The number that a text such as ``4: ACTIVE`` or ``200 Gb/sec (4X HDR)`` begins with."""
        word, *_ = data.replace(b":", b" ").split() or [b""]
        return float(word)
