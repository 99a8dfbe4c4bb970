"""Counters of IP, TCP and UDP in this network namespace, from /proc/net/snmp and /proc/net/netstat.

https://docs.kernel.org/networking/snmp_counter.html
"""

from __future__ import annotations

from catalog.families import network
from catalog.family import Tier
from exporter.collector import Context, PartedCollector, families_of, or_unavailable
from exporter.parsing import HeadedLines, ParsedFiles

_SNMP = {
    b"Ip.InDiscards": network.IP_RECEIVE_DISCARDS(),
    b"Ip.OutDiscards": network.IP_SEND_DISCARDS(),
    b"Ip.ReasmFails": network.IP_REASSEMBLY_FAILURES(),
    b"Tcp.ActiveOpens": network.TCP_ACTIVE_OPENS(),
    b"Tcp.PassiveOpens": network.TCP_PASSIVE_OPENS(),
    b"Tcp.AttemptFails": network.TCP_ATTEMPT_FAILURES(),
    b"Tcp.EstabResets": network.TCP_ESTABLISHED_RESETS(),
    b"Tcp.CurrEstab": network.TCP_ESTABLISHED_CONNECTIONS(),
    b"Tcp.InSegs": network.TCP_RECEIVED_SEGMENTS(),
    b"Tcp.OutSegs": network.TCP_SENT_SEGMENTS(),
    b"Tcp.RetransSegs": network.TCP_RETRANSMITTED_SEGMENTS(),
    b"Tcp.InErrs": network.TCP_RECEIVE_ERRORS(),
    b"Tcp.OutRsts": network.TCP_RESETS_SENT(),
    b"Udp.InDatagrams": network.UDP_RECEIVED_DATAGRAMS(),
    b"Udp.InErrors": network.UDP_RECEIVE_ERRORS(),
    b"Udp.OutDatagrams": network.UDP_SENT_DATAGRAMS(),
    b"Udp.RcvbufErrors": network.UDP_RECEIVE_BUFFER_ERRORS(),
    b"Udp.SndbufErrors": network.UDP_SEND_BUFFER_ERRORS(),
}
_NETSTAT = {
    b"TcpExt.PruneCalled": network.TCP_PRUNED(),
    b"TcpExt.ListenOverflows": network.TCP_LISTEN_OVERFLOWS(),
    b"TcpExt.ListenDrops": network.TCP_LISTEN_DROPS(),
    b"TcpExt.TCPLostRetransmit": network.TCP_LOST_RETRANSMITS(),
    b"TcpExt.TCPFastRetrans": network.TCP_FAST_RETRANSMITS(),
    b"TcpExt.TCPSlowStartRetrans": network.TCP_SLOW_START_RETRANSMITS(),
    b"TcpExt.TCPTimeouts": network.TCP_TIMEOUTS(),
    b"TcpExt.TCPMemoryPressures": network.TCP_MEMORY_PRESSURES(),
    b"TcpExt.TCPSpuriousRTOs": network.TCP_SPURIOUS_TIMEOUTS(),
    b"TcpExt.TCPBacklogDrop": network.TCP_BACKLOG_DROPS(),
    b"TcpExt.TCPOFOQueue": network.TCP_OUT_OF_ORDER(),
    b"TcpExt.TCPToZeroWindowAdv": network.TCP_ZERO_WINDOW_SENT(),
    b"TcpExt.TCPSynRetrans": network.TCP_SYN_RETRANSMITS(),
    b"TcpExt.TCPDeliveredCE": network.TCP_DELIVERED_CE(),
    b"TcpExt.TCPRcvQDrop": network.TCP_RECEIVE_QUEUE_DROPS(),
    b"IpExt.InOctets": network.IP_RECEIVED_BYTES(),
    b"IpExt.OutOctets": network.IP_SENT_BYTES(),
    b"IpExt.InCEPkts": network.IP_RECEIVED_CE_PACKETS(),
}
_TABLES = {"/proc/net/snmp": _SNMP, "/proc/net/netstat": _NETSTAT}


class NetstatCollector(PartedCollector):
    """Both files have the same format, and what they hold was split between them by age, not by meaning."""

    name = "netstat"
    tier = Tier.FAST
    families = families_of((*_SNMP.values(), *_NETSTAT.values()))
    sources = tuple(_TABLES)

    def __init__(self, context: Context) -> None:
        with or_unavailable():
            self._files = ParsedFiles(
                (context.host.hold(path), HeadedLines(context.wanted(table), path)) for path, table in _TABLES.items()
            )
        self.series = ()
        self.read()

    def take(self) -> list[bytes]:
        """Both files."""
        return self._files.take()

    @staticmethod
    def glance(taken: list[bytes]) -> tuple[float]:
        """Segments of TCP that were sent again."""
        snmp = taken[0]
        heads, values = snmp[snmp.index(b"\nTcp:") + 1 :].split(b"\n", 2)[:2]
        return (float(values.split()[heads.split().index(b"RetransSegs")]),)

    def parse(self, taken: list[bytes]) -> list[float]:
        """Counts as they stood then."""
        values = self._files.parse(taken)
        self.series = self._files.series
        return values

    def close(self) -> None:
        """Close both files."""
        self._files.close()
