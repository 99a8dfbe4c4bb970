"""Sockets in use and what their buffers hold, from /proc/net/sockstat.

The lines are written by sockstat_seq_show in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/ipv4/proc.c
"""

from __future__ import annotations

from catalog.families import network
from catalog.family import Tier
from exporter.collector import Context, FileCollector, families_of
from exporter.parsing import filled, numbers

_MEMORY = b"TCP.mem"
_FIELDS = {
    b"sockets.used": network.SOCKETS_USED(),
    b"TCP.inuse": network.TCP_SOCKETS_INUSE(),
    b"TCP.orphan": network.TCP_SOCKETS_ORPHAN(),
    b"TCP.tw": network.TCP_SOCKETS_TIMEWAIT(),
    _MEMORY: network.TCP_SOCKET_MEMORY_BYTES(),
    b"UDP.inuse": network.UDP_SOCKETS_INUSE(),
}


class SockstatCollector(FileCollector):
    """A line for each protocol: its name, then keys each with its value."""

    name = "sockstat"
    tier = Tier.MEDIUM
    families = families_of(_FIELDS.values())
    path = "/proc/net/sockstat"
    sources = (path,)

    def __init__(self, context: Context) -> None:
        self._page_bytes = context.host.page_bytes
        super().__init__(context)

    def parse(self, data: bytes) -> list[float]:
        """Sockets, and bytes of what the kernel counts in pages."""
        words: dict[bytes, bytes] = {}
        for line in filled(data, self.path).splitlines():
            protocol, _, rest = line.partition(b": ")
            pairs = iter(rest.split())
            words.update((protocol + b"." + key, value) for key, value in zip(pairs, pairs, strict=False))
        found = [key for key in _FIELDS if key in words]
        if not found:
            raise ValueError(f"{self.path}: has none of the fields wanted")
        values = numbers([words[key] for key in found], self.path)
        if _MEMORY in words:
            values[found.index(_MEMORY)] *= self._page_bytes
        series = tuple(_FIELDS[key] for key in found)
        if series != self.series:
            self.series = series
        return values
