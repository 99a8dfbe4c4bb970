"""What the drivers of network cards count themselves, by an allow-list: they have hundreds of counters.

What they mean: https://docs.kernel.org/networking/device_drivers/ethernet/mellanox/mlx5/counters.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from math import nan
from socket import if_nameindex

from catalog.devices import wanted_interface
from catalog.families import ethtool
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable
from exporter.ethtool import Ethtool

_NET = "/sys/class/net"
# Discards and errors of the wire, pauses, marks of congestion, exhausted queues: names as drivers spell them.
_ALLOWED = re.compile(
    r"(rx|tx)_(discards|errors)_phy|rx_(crc_errors|symbol_err|in_range_len_errors|pcs_symbol_err)_phy"
    r"|link_down_events_phy|(rx|tx)_(prio\d|global)_pause(_duration|_transition)?|rx_out_of_buffer|rx_discard_phy"
    r"|(rx|tx)_prio\d_(discards|buf_discard|cong_discard)|(rx|tx)_pfc_ena_frames_pri\d|(rx|tx)_prio\d_(xon|xoff)"
    r"|\w*ecn_mark(ed)?|rx_ecn_mark|rx_steer_missed_packets|(rx|tx)_(drops|timeouts?)|tx_tx_timeouts|tx_timeout_count"
    r"|rx_(missed|fifo|no_buffer|no_dma_resources)(_errors|_count)?|(port\.)?link_(xon|xoff)_(rx|tx)"
    r"|(port\.)?rx_(crc_errors|discards|dropped)(\.nic)?|(bw_in|bw_out|pps|conntrack|linklocal)_allowance_exceeded"
)


class NiceventsCollector(Collector):
    """Names are asked for again whenever a driver has another number of counters than before."""

    name = "nicevents"
    tier = Tier.SLOW
    families = (ethtool.NIC_EVENTS,)
    sources = ()

    def __init__(self, context: Context) -> None:
        self._host = context.host
        if not self._host.live or {*self._host.names(_NET)} != {name for _, name in if_nameindex()}:
            raise Unavailable(f"{_NET}: these interfaces are not in the network namespace that the exporter runs in")
        self._ethtool = Ethtool()
        self._layouts: dict[str, tuple[int, tuple[tuple[int, Series], ...]]] = {}
        self.series = ()
        self.read()
        if not self.series:
            self.close()
            raise Unavailable(f"{_NET}: no driver counts any of the events that are looked for")

    def read(self) -> list[float]:
        """The events of each device; one that is gone is left out."""
        readings = [
            reading for device in filter(wanted_interface, self._host.names(_NET)) for reading in self._of(device)
        ]
        series = tuple(one for one, _ in readings)
        if series != self.series:
            self.series = series
        return [value for _, value in readings]

    def _of(self, device: str) -> Iterator[tuple[Series, float]]:
        with suppress(OSError):  # loopback and most virtual interfaces have no counters, others may go at any time
            values = self._ethtool.values(device)
            count, layout = self._layouts.get(device, (-1, ()))
            if count != len(values):
                layout = self._learn(device)
                self._layouts[device] = len(values), layout
            for at, series in layout:
                yield series, float(values[at]) if at < len(values) else nan

    def _learn(self, device: str) -> tuple[tuple[int, Series], ...]:
        wanted: dict[str, int] = {}
        for at, name in enumerate(self._ethtool.names(device)):
            if allowed(name):
                wanted.setdefault(name, at)
        return tuple((at, ethtool.NIC_EVENTS(device, name)) for name, at in wanted.items())

    def close(self) -> None:
        """Close the socket."""
        self._ethtool.close()


def allowed(name: str) -> bool:
    """Whether a driver's counter is one of trouble, by its name.

    >>> [name for name in ("rx_prio3_pause", "rx0_packets", "rx_discards_phy", "rx_queue_0_drops") if allowed(name)]
    ['rx_prio3_pause', 'rx_discards_phy']
    """
    return _ALLOWED.fullmatch(name) is not None
