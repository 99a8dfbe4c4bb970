"""Traffic and congestion of RDMA ports.

https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html
"""

from __future__ import annotations

from catalog.families import rdma
from catalog.family import Tier
from exporter.rdma import PORTS, RdmaCollector

_WORD_BYTES = 4.0


_FIELDS = {
    "counters/port_rcv_data": (rdma.RDMA_RECEIVE_BYTES, _WORD_BYTES),
    "counters/port_xmit_data": (rdma.RDMA_TRANSMIT_BYTES, _WORD_BYTES),
    "counters/port_rcv_packets": (rdma.RDMA_RECEIVE_PACKETS, 1.0),
    "counters/port_xmit_packets": (rdma.RDMA_TRANSMIT_PACKETS, 1.0),
    "counters/port_xmit_wait": (rdma.RDMA_TRANSMIT_WAIT_TICKS, 1.0),
    "counters/port_xmit_discards": (rdma.RDMA_TRANSMIT_DISCARDS, 1.0),
    "counters/port_rcv_errors": (rdma.RDMA_RECEIVE_ERRORS, 1.0),
}


class RdmaportCollector(RdmaCollector):
    """Hardware counts data in words of four bytes."""

    name = "rdmaport"
    tier = Tier.FAST
    fields = _FIELDS
    families = tuple(family for family, _ in _FIELDS.values())
    sources = tuple(f"{PORTS}/{file}" for file in _FIELDS)
