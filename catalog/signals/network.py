"""Network signals: traffic, errors and losses by device, and what TCP had to repeat."""

from __future__ import annotations

from functools import partial

from catalog.expression import at_least, level, rate, ratio, total
from catalog.families import cpu, network, softnet
from catalog.family import Family, Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.UTILISATION, worse=Worse.EITHER)
_saturation = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.SATURATION)
_state = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.STATE)
_error = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.ERROR)


def _softirqs(kind: str, meaning: str) -> Signal:
    return _utilisation(
        f"network_softirq_{kind.lower()}_per_second",
        f"Soft interrupts that {meaning} packets.",
        total(rate(cpu.SOFTIRQS, type=kind), "cpu", "type"),
        "1/s",
        floor=300.0,
    )


def _lost(name: str, meaning: str, family: Family, floor: float = 0.5) -> Signal:
    return _error(f"network_{name}_per_second", meaning, rate(family), "1/s", floor=floor)


SIGNALS: tuple[Signal, ...] = (
    _utilisation(
        "network_receive_bytes_per_second",
        "Bytes received by device.",
        rate(network.RECEIVE_BYTES),
        "B/s",
        floor=2e5,
    ),
    _utilisation(
        "network_transmit_bytes_per_second",
        "Bytes sent by device.",
        rate(network.TRANSMIT_BYTES),
        "B/s",
        floor=2e5,
    ),
    _utilisation(
        "network_receive_packets_per_second",
        "Packets received by device.",
        rate(network.RECEIVE_PACKETS),
        "1/s",
        floor=300.0,
    ),
    _utilisation(
        "network_transmit_packets_per_second",
        "Packets sent by device.",
        rate(network.TRANSMIT_PACKETS),
        "1/s",
        floor=300.0,
    ),
    _softirqs("NET_RX", "receive"),
    _softirqs("NET_TX", "send"),
    _lost("receive_errors", "Receive errors by device.", network.RECEIVE_ERRORS),
    _lost("transmit_errors", "Send errors by device.", network.TRANSMIT_ERRORS),
    _lost("receive_drops", "Received packets dropped, by device.", network.RECEIVE_DROPS),
    _lost("transmit_drops", "Packets to send that were dropped, by device.", network.TRANSMIT_DROPS),
    _lost("carrier_changes", "Times that a link went down or up.", network.CARRIER_CHANGES, 0.05),
    _state(
        "network_up",
        "Whether the device is up.",
        level(network.UP),
        "",
        floor=0.25,
        worse=Worse.LOWER,
        scale=Scale.LINEAR,
    ),
    _state(
        "network_speed_bytes_per_second",
        "Speed that the link was negotiated to.",
        level(network.SPEED_BYTES_PER_SECOND),
        "B/s",
        floor=1e6,
        worse=Worse.LOWER,
    ),
    _error(
        "network_softnet_drops_per_second",
        "Packets dropped because a CPU's receive queue was full.",
        total(rate(softnet.SOFTNET_DROPPED), "cpu"),
        "1/s",
        floor=0.5,
    ),
    _saturation(
        "network_softnet_squeezes_per_second",
        "Times that receiving ran out of its budget with packets left.",
        total(rate(softnet.SOFTNET_TIME_SQUEEZED), "cpu"),
        "1/s",
        floor=3.0,
    ),
    _utilisation(
        "network_tcp_received_segments_per_second",
        "TCP segments received.",
        rate(network.TCP_RECEIVED_SEGMENTS),
        "1/s",
        floor=300.0,
    ),
    _utilisation(
        "network_tcp_sent_segments_per_second",
        "TCP segments sent.",
        rate(network.TCP_SENT_SEGMENTS),
        "1/s",
        floor=300.0,
    ),
    _error(
        "network_tcp_retransmission_ratio",
        "Share of TCP segments that were sent again.",
        ratio(rate(network.TCP_RETRANSMITTED_SEGMENTS), at_least(rate(network.TCP_SENT_SEGMENTS), 200.0)),
        "ratio",
        floor=0.002,
        scale=Scale.LINEAR,
    ),
    _lost("tcp_retransmitted_segments", "TCP segments sent again.", network.TCP_RETRANSMITTED_SEGMENTS, 2.0),
    _lost("tcp_lost_retransmits", "TCP segments lost again after they were sent again.", network.TCP_LOST_RETRANSMITS),
    _lost("tcp_timeouts", "TCP retransmission timers that ran out.", network.TCP_TIMEOUTS, 1.0),
    _lost("tcp_fast_retransmits", "TCP segments sent again on the receiver's hint.", network.TCP_FAST_RETRANSMITS, 2.0),
    _saturation(
        "network_tcp_listen_overflows_per_second",
        "Connections refused because nobody accepted them in time.",
        rate(network.TCP_LISTEN_OVERFLOWS),
        "1/s",
        floor=0.5,
    ),
    _saturation(
        "network_tcp_listen_drops_per_second",
        "Connection requests dropped.",
        rate(network.TCP_LISTEN_DROPS),
        "1/s",
        floor=0.5,
    ),
    _lost("udp_receive_errors", "UDP datagrams lost at the receiver.", network.UDP_RECEIVE_ERRORS),
    _utilisation(
        "network_tcp_established_connections",
        "Open TCP connections.",
        level(network.TCP_ESTABLISHED_CONNECTIONS),
        "",
        floor=10.0,
    ),
)
