"""Traffic, errors and drops of each network interface, from /proc/net/dev.

https://docs.kernel.org/networking/statistics.html
"""

from __future__ import annotations

from catalog.devices import wanted_interface
from catalog.families import network
from catalog.family import Tier
from exporter.collector import Context, FileCollector
from exporter.parsing import NamedRows

_COLUMNS = {
    0: network.RECEIVE_BYTES,
    1: network.RECEIVE_PACKETS,
    2: network.RECEIVE_ERRORS,
    3: network.RECEIVE_DROPS,
    4: network.RECEIVE_FIFO_ERRORS,
    5: network.RECEIVE_FRAME_ERRORS,
    7: network.RECEIVE_MULTICAST_PACKETS,
    8: network.TRANSMIT_BYTES,
    9: network.TRANSMIT_PACKETS,
    10: network.TRANSMIT_ERRORS,
    11: network.TRANSMIT_DROPS,
    14: network.TRANSMIT_CARRIER_ERRORS,
}
_WIDTH = 17


class NetdevCollector(FileCollector):
    """Two lines of headings, then a line for each interface of the network namespace."""

    name = "netdev"
    tier = Tier.FAST
    families = tuple(_COLUMNS.values())
    path = "/proc/net/dev"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        columns = {1 + at: (family, 1.0) for at, family in _COLUMNS.items() if context.wants(family)}
        self._rows = NamedRows(
            columns, self.path, fits=lambda width: width == _WIDTH, name_at=0, keeps=wanted_interface
        )
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Bytes and packets."""
        headings, bar, rows = data.partition(b"compressed\n")
        if not bar or b"multicast|bytes" not in headings:
            raise ValueError(f"{self.path}: does not begin with the headings that it should have")
        values = self._rows(rows.replace(b":", b" "))
        self.series = self._rows.series
        return values
