"""Signals of InfiniBand and RoCE ports: traffic, congestion, losses. Written to the documented counters, untried."""

from __future__ import annotations

from functools import partial

from catalog.expression import level, rate
from catalog.families import rdma
from catalog.family import Family, Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.UTILISATION, worse=Worse.EITHER)
_saturation = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.SATURATION)
_state = partial(Signal, subsystem=Subsystem.NETWORK, role=Role.STATE)


def _lost(name: str, meaning: str, family: Family, floor: float = 0.5) -> Signal:
    return Signal(
        f"network_rdma_{name}_per_second", meaning, rate(family), "1/s", Subsystem.NETWORK, Role.ERROR, floor=floor
    )


SIGNALS: tuple[Signal, ...] = (
    _utilisation(
        "network_rdma_receive_bytes_per_second",
        "Bytes received by port.",
        rate(rdma.RDMA_RECEIVE_BYTES),
        "B/s",
        floor=1e6,
    ),
    _utilisation(
        "network_rdma_transmit_bytes_per_second",
        "Bytes sent by port.",
        rate(rdma.RDMA_TRANSMIT_BYTES),
        "B/s",
        floor=1e6,
    ),
    _saturation(
        "network_rdma_transmit_wait_per_second",
        "Ticks in which a port had data to send and no credit.",
        rate(rdma.RDMA_TRANSMIT_WAIT_TICKS),
        "1/s",
        floor=1e4,
    ),
    _saturation(
        "network_rdma_congestion_marks_per_second",
        "Packets received with a mark of congestion.",
        rate(rdma.RDMA_ECN_MARKED_RECEIVED),
        "1/s",
        floor=10.0,
    ),
    _saturation(
        "network_rdma_congestion_notifications_per_second",
        "Notifications of congestion on which a port slowed down.",
        rate(rdma.RDMA_CNP_HANDLED),
        "1/s",
        floor=10.0,
    ),
    _lost("transmit_discards", "Packets to send that a port discarded.", rdma.RDMA_TRANSMIT_DISCARDS),
    _lost("receive_errors", "Packets received with errors.", rdma.RDMA_RECEIVE_ERRORS),
    _lost("symbol_errors", "Symbols that the link garbled.", rdma.RDMA_SYMBOL_ERRORS),
    _lost("link_downs", "Times that the link went down.", rdma.RDMA_LINK_DOWNED, 0.05),
    _lost("out_of_sequence", "Packets received out of sequence.", rdma.RDMA_OUT_OF_SEQUENCE, 2.0),
    _lost("ack_timeouts", "Packets sent again because no acknowledgement came.", rdma.RDMA_ACK_TIMEOUTS),
    _state(
        "network_rdma_state",
        "State of the port; 4 is active.",
        level(rdma.RDMA_STATE),
        "",
        floor=0.25,
        worse=Worse.LOWER,
        scale=Scale.LINEAR,
    ),
)
