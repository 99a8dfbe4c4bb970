"""Network families: interfaces, packet processing, TCP, UDP, sockets. InfiniBand and RoCE are in ``rdma``.

Formats: https://docs.kernel.org/networking/statistics.html, https://docs.kernel.org/networking/snmp_counter.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _interface(
    name: str, column: int, help_text: str, alias: str, profile: Profile = Profile.CORE, unit: Unit = Unit.COUNT
) -> Family:
    """A counter of one interface, from its line in /proc/net/dev."""
    source, aliases = f"/proc/net/dev column {column}", (Alias(alias),)
    labels = ("device",)
    return Family(name, Kind.COUNTER, unit, help_text, Subsystem.NETWORK, labels, Tier.FAST, profile, source, aliases)


RECEIVE_BYTES = _interface(
    "hostpulse_network_receive_bytes_total", 0, "Bytes received.", "node_network_receive_bytes_total", unit=Unit.BYTES
)
RECEIVE_PACKETS = _interface(
    "hostpulse_network_receive_packets_total", 1, "Packets received.", "node_network_receive_packets_total"
)
RECEIVE_ERRORS = _interface(
    "hostpulse_network_receive_errors_total", 2, "Bad packets received.", "node_network_receive_errs_total"
)
RECEIVE_DROPS = _interface(
    "hostpulse_network_receive_drops_total",
    3,
    "Received packets dropped for want of room or of a listener.",
    "node_network_receive_drop_total",
)
RECEIVE_FIFO_ERRORS = _interface(
    "hostpulse_network_receive_fifo_errors_total",
    4,
    "Packets lost because the interface's own buffer was full.",
    "node_network_receive_fifo_total",
    Profile.STANDARD,
)
RECEIVE_FRAME_ERRORS = _interface(
    "hostpulse_network_receive_frame_errors_total",
    5,
    "Packets received with a bad frame: length, checksum or alignment.",
    "node_network_receive_frame_total",
    Profile.STANDARD,
)
RECEIVE_MULTICAST_PACKETS = _interface(
    "hostpulse_network_receive_multicast_packets_total",
    7,
    "Packets received that were for many.",
    "node_network_receive_multicast_total",
    Profile.FULL,
)
TRANSMIT_BYTES = _interface(
    "hostpulse_network_transmit_bytes_total", 8, "Bytes sent.", "node_network_transmit_bytes_total", unit=Unit.BYTES
)
TRANSMIT_PACKETS = _interface(
    "hostpulse_network_transmit_packets_total", 9, "Packets sent.", "node_network_transmit_packets_total"
)
TRANSMIT_ERRORS = _interface(
    "hostpulse_network_transmit_errors_total", 10, "Packets that failed to be sent.", "node_network_transmit_errs_total"
)
TRANSMIT_DROPS = _interface(
    "hostpulse_network_transmit_drops_total", 11, "Packets dropped before sending.", "node_network_transmit_drop_total"
)
TRANSMIT_CARRIER_ERRORS = _interface(
    "hostpulse_network_transmit_carrier_errors_total",
    14,
    "Packets lost because the link went away while sending.",
    "node_network_transmit_carrier_total",
    Profile.STANDARD,
)


def _link(
    name: str,
    file: str,
    help_text: str,
    alias: str,
    *,
    unit: Unit = Unit.COUNT,
    kind: Kind = Kind.GAUGE,
    tier: Tier = Tier.SLOW,
    profile: Profile = Profile.CORE,
) -> Family:
    """An attribute of one interface, from sysfs."""
    source, aliases = f"/sys/class/net/*/{file}", (Alias(alias),)
    return Family(name, kind, unit, help_text, Subsystem.NETWORK, ("device",), tier, profile, source, aliases)


UP = _link("hostpulse_network_up", "operstate", "Whether the link is up (1).", "node_network_up", unit=Unit.BOOLEAN)
CARRIER_CHANGES = _link(
    "hostpulse_network_carrier_changes_total",
    "carrier_changes",
    "How often the link went up or down.",
    "node_network_carrier_changes_total",
    kind=Kind.COUNTER,
    tier=Tier.MEDIUM,
)
SPEED_BYTES_PER_SECOND = _link(
    "hostpulse_network_speed_bytes_per_second",
    "speed",
    "Speed that the link was trained at.",
    "node_network_speed_bytes",
    unit=Unit.BYTES_PER_SECOND,
)
MTU_BYTES = _link(
    "hostpulse_network_mtu_bytes",
    "mtu",
    "Largest packet that the interface sends.",
    "node_network_mtu_bytes",
    unit=Unit.BYTES,
    profile=Profile.STANDARD,
)
INFO = Family(
    "hostpulse_network_info",
    Kind.INFO,
    Unit.NONE,
    "What each interface is: driver, PCI address and NUMA node.",
    Subsystem.NETWORK,
    ("device", "address", "duplex", "driver", "pci", "node"),
    Tier.STATIC,
    Profile.STANDARD,
    "/sys/class/net/*/{address,duplex,device}",
)


def _protocol(
    name: str,
    key: str,
    help_text: str,
    profile: Profile = Profile.CORE,
    *,
    kind: Kind = Kind.COUNTER,
    unit: Unit = Unit.COUNT,
) -> Family:
    """A figure of the protocol stack; ``key`` is ``Group.Field``."""
    file = "netstat" if key.startswith(("TcpExt.", "IpExt.")) else "snmp"
    source, aliases = f"/proc/net/{file} {key}", (Alias("node_netstat_" + key.replace(".", "_")),)
    return Family(name, kind, unit, help_text, Subsystem.NETWORK, (), Tier.FAST, profile, source, aliases)


TCP_RETRANSMITTED_SEGMENTS = _protocol(
    "hostpulse_network_tcp_retransmitted_segments_total", "Tcp.RetransSegs", "TCP segments sent again."
)
TCP_RECEIVED_SEGMENTS = _protocol(
    "hostpulse_network_tcp_received_segments_total", "Tcp.InSegs", "TCP segments received."
)
TCP_SENT_SEGMENTS = _protocol(
    "hostpulse_network_tcp_sent_segments_total", "Tcp.OutSegs", "TCP segments sent, those sent again left out."
)
TCP_ESTABLISHED_CONNECTIONS = _protocol(
    "hostpulse_network_tcp_established_connections",
    "Tcp.CurrEstab",
    "TCP connections that are established.",
    kind=Kind.GAUGE,
)
TCP_LOST_RETRANSMITS = _protocol(
    "hostpulse_network_tcp_lost_retransmits_total",
    "TcpExt.TCPLostRetransmit",
    "TCP segments sent again that were lost again.",
)
TCP_TIMEOUTS = _protocol(
    "hostpulse_network_tcp_timeouts_total", "TcpExt.TCPTimeouts", "TCP retransmission timers that ran out."
)
TCP_FAST_RETRANSMITS = _protocol(
    "hostpulse_network_tcp_fast_retransmits_total",
    "TcpExt.TCPFastRetrans",
    "TCP segments sent again before the timer ran out.",
)
TCP_LISTEN_OVERFLOWS = _protocol(
    "hostpulse_network_tcp_listen_overflows_total",
    "TcpExt.ListenOverflows",
    "Connections refused because the listener's queue was full.",
)
TCP_LISTEN_DROPS = _protocol(
    "hostpulse_network_tcp_listen_drops_total", "TcpExt.ListenDrops", "Connections that listeners dropped."
)
UDP_RECEIVE_ERRORS = _protocol(
    "hostpulse_network_udp_receive_errors_total", "Udp.InErrors", "UDP datagrams received and not delivered."
)
TCP_RECEIVE_ERRORS = _protocol(
    "hostpulse_network_tcp_receive_errors_total", "Tcp.InErrs", "Bad TCP segments received.", Profile.STANDARD
)
TCP_RESETS_SENT = _protocol(
    "hostpulse_network_tcp_resets_sent_total", "Tcp.OutRsts", "TCP resets sent.", Profile.STANDARD
)
TCP_ACTIVE_OPENS = _protocol(
    "hostpulse_network_tcp_active_opens_total", "Tcp.ActiveOpens", "TCP connections opened from here.", Profile.STANDARD
)
TCP_PASSIVE_OPENS = _protocol(
    "hostpulse_network_tcp_passive_opens_total", "Tcp.PassiveOpens", "TCP connections accepted.", Profile.STANDARD
)
TCP_ATTEMPT_FAILURES = _protocol(
    "hostpulse_network_tcp_attempt_failures_total",
    "Tcp.AttemptFails",
    "TCP connections that failed to open.",
    Profile.STANDARD,
)
TCP_ESTABLISHED_RESETS = _protocol(
    "hostpulse_network_tcp_established_resets_total",
    "Tcp.EstabResets",
    "Established TCP connections that were reset.",
    Profile.STANDARD,
)
TCP_SLOW_START_RETRANSMITS = _protocol(
    "hostpulse_network_tcp_slow_start_retransmits_total",
    "TcpExt.TCPSlowStartRetrans",
    "TCP segments sent again in slow start, after a timer ran out.",
    Profile.STANDARD,
)
TCP_SYN_RETRANSMITS = _protocol(
    "hostpulse_network_tcp_syn_retransmits_total",
    "TcpExt.TCPSynRetrans",
    "Opening TCP segments sent again: peers that do not answer.",
    Profile.STANDARD,
)
TCP_SPURIOUS_TIMEOUTS = _protocol(
    "hostpulse_network_tcp_spurious_timeouts_total",
    "TcpExt.TCPSpuriousRTOs",
    "TCP timers that ran out though nothing was lost: late answers.",
    Profile.STANDARD,
)
TCP_OUT_OF_ORDER = _protocol(
    "hostpulse_network_tcp_out_of_order_total",
    "TcpExt.TCPOFOQueue",
    "TCP segments received out of order.",
    Profile.STANDARD,
)
TCP_RECEIVE_QUEUE_DROPS = _protocol(
    "hostpulse_network_tcp_receive_queue_drops_total",
    "TcpExt.TCPRcvQDrop",
    "TCP segments dropped because the reader's queue was full.",
    Profile.STANDARD,
)
TCP_BACKLOG_DROPS = _protocol(
    "hostpulse_network_tcp_backlog_drops_total",
    "TcpExt.TCPBacklogDrop",
    "TCP segments dropped because the socket's backlog was full.",
    Profile.STANDARD,
)
TCP_MEMORY_PRESSURES = _protocol(
    "hostpulse_network_tcp_memory_pressures_total",
    "TcpExt.TCPMemoryPressures",
    "How often TCP came under memory pressure.",
    Profile.STANDARD,
)
TCP_PRUNED = _protocol(
    "hostpulse_network_tcp_pruned_total",
    "TcpExt.PruneCalled",
    "How often a receive queue was squeezed because the socket's buffer was full.",
    Profile.STANDARD,
)
TCP_ZERO_WINDOW_SENT = _protocol(
    "hostpulse_network_tcp_zero_window_sent_total",
    "TcpExt.TCPToZeroWindowAdv",
    "How often a peer was told to stop sending because the reader is slow.",
    Profile.STANDARD,
)
TCP_DELIVERED_CE = _protocol(
    "hostpulse_network_tcp_delivered_ce_total",
    "TcpExt.TCPDeliveredCE",
    "TCP segments sent from here that met congestion on their way, as the peer reports.",
    Profile.STANDARD,
)
IP_RECEIVED_BYTES = _protocol(
    "hostpulse_network_ip_received_bytes_total",
    "IpExt.InOctets",
    "Bytes of IP packets received.",
    Profile.STANDARD,
    unit=Unit.BYTES,
)
IP_SENT_BYTES = _protocol(
    "hostpulse_network_ip_sent_bytes_total",
    "IpExt.OutOctets",
    "Bytes of IP packets sent.",
    Profile.STANDARD,
    unit=Unit.BYTES,
)
IP_RECEIVED_CE_PACKETS = _protocol(
    "hostpulse_network_ip_received_ce_packets_total",
    "IpExt.InCEPkts",
    "IP packets received that met congestion on their way.",
    Profile.STANDARD,
)
IP_RECEIVE_DISCARDS = _protocol(
    "hostpulse_network_ip_receive_discards_total",
    "Ip.InDiscards",
    "IP packets received and dropped for want of memory.",
    Profile.STANDARD,
)
IP_SEND_DISCARDS = _protocol(
    "hostpulse_network_ip_send_discards_total",
    "Ip.OutDiscards",
    "IP packets dropped before sending for want of memory.",
    Profile.STANDARD,
)
IP_REASSEMBLY_FAILURES = _protocol(
    "hostpulse_network_ip_reassembly_failures_total",
    "Ip.ReasmFails",
    "IP packets whose fragments could not be put together.",
    Profile.STANDARD,
)
UDP_RECEIVED_DATAGRAMS = _protocol(
    "hostpulse_network_udp_received_datagrams_total", "Udp.InDatagrams", "UDP datagrams delivered.", Profile.STANDARD
)
UDP_SENT_DATAGRAMS = _protocol(
    "hostpulse_network_udp_sent_datagrams_total", "Udp.OutDatagrams", "UDP datagrams sent.", Profile.STANDARD
)
UDP_RECEIVE_BUFFER_ERRORS = _protocol(
    "hostpulse_network_udp_receive_buffer_errors_total",
    "Udp.RcvbufErrors",
    "UDP datagrams dropped because the socket's buffer was full.",
    Profile.STANDARD,
)
UDP_SEND_BUFFER_ERRORS = _protocol(
    "hostpulse_network_udp_send_buffer_errors_total",
    "Udp.SndbufErrors",
    "UDP datagrams not sent because the socket's buffer was full.",
    Profile.STANDARD,
)


def _count(name: str, source: str, help_text: str, alias: str, unit: Unit = Unit.COUNT) -> Family:
    """A gauge of the whole stack that changes slowly."""
    aliases, profile = (Alias(alias),), Profile.STANDARD
    return Family(name, Kind.GAUGE, unit, help_text, Subsystem.NETWORK, (), Tier.MEDIUM, profile, source, aliases)


SOCKETS_USED = _count(
    "hostpulse_network_sockets_used", "/proc/net/sockstat sockets.used", "Open sockets.", "node_sockstat_sockets_used"
)
TCP_SOCKETS_INUSE = _count(
    "hostpulse_network_tcp_sockets_inuse",
    "/proc/net/sockstat TCP.inuse",
    "Open TCP sockets.",
    "node_sockstat_TCP_inuse",
)
TCP_SOCKETS_ORPHAN = _count(
    "hostpulse_network_tcp_sockets_orphan",
    "/proc/net/sockstat TCP.orphan",
    "TCP sockets that no process owns any more.",
    "node_sockstat_TCP_orphan",
)
TCP_SOCKETS_TIMEWAIT = _count(
    "hostpulse_network_tcp_sockets_timewait",
    "/proc/net/sockstat TCP.tw",
    "TCP sockets that wait out the end of their connection.",
    "node_sockstat_TCP_tw",
)
TCP_SOCKET_MEMORY_BYTES = _count(
    "hostpulse_network_tcp_socket_memory_bytes",
    "/proc/net/sockstat TCP.mem",
    "Memory that TCP buffers hold.",
    "node_sockstat_TCP_mem_bytes",
    Unit.BYTES,
)
UDP_SOCKETS_INUSE = _count(
    "hostpulse_network_udp_sockets_inuse",
    "/proc/net/sockstat UDP.inuse",
    "Open UDP sockets.",
    "node_sockstat_UDP_inuse",
)
CONNTRACK_ENTRIES = _count(
    "hostpulse_network_conntrack_entries",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "Connections that the packet filter tracks.",
    "node_nf_conntrack_entries",
)
CONNTRACK_ENTRIES_LIMIT = _count(
    "hostpulse_network_conntrack_entries_limit",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "Connections that the packet filter tracks at most; above it packets are dropped.",
    "node_nf_conntrack_entries_limit",
)
