"""Network families of InfiniBand and RoCE ports, whose traffic passes by the kernel's network stack.

Formats: https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html; what the hardware counters mean:
https://enterprise-support.nvidia.com/s/article/understanding-mlx5-linux-counters-and-status-parameters
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

_PORT = "/sys/class/infiniband/*/ports/*"
_LABELS = ("device", "port")


def _port(name: str, file: str, help_text: str, alias: str, profile: Profile, tier: Tier, unit: Unit) -> Family:
    """A counter of a port; ``file`` is below the port's directory."""
    source, aliases = f"{_PORT}/{file}", (Alias(f"node_infiniband_{alias}"),)
    return Family(name, Kind.COUNTER, unit, help_text, Subsystem.NETWORK, _LABELS, tier, profile, source, aliases)


def _traffic(
    name: str, file: str, help_text: str, alias: str, profile: Profile = Profile.CORE, unit: Unit = Unit.COUNT
) -> Family:
    return _port(name, f"counters/{file}", help_text, alias, profile, Tier.FAST, unit)


def _error(name: str, file: str, help_text: str, alias: str, profile: Profile = Profile.STANDARD) -> Family:
    return _port(name, f"counters/{file}", help_text, alias, profile, Tier.MEDIUM, Unit.COUNT)


def _hardware(name: str, file: str, help_text: str, alias: str, profile: Profile = Profile.STANDARD) -> Family:
    return _port(name, f"hw_counters/{file}", help_text, alias, profile, Tier.MEDIUM, Unit.COUNT)


RDMA_RECEIVE_BYTES = _traffic(
    "hostpulse_network_rdma_receive_bytes_total",
    "port_rcv_data",
    "Bytes received.",
    "port_data_received_bytes_total",
    unit=Unit.BYTES,
)
RDMA_TRANSMIT_BYTES = _traffic(
    "hostpulse_network_rdma_transmit_bytes_total",
    "port_xmit_data",
    "Bytes sent.",
    "port_data_transmitted_bytes_total",
    unit=Unit.BYTES,
)
RDMA_RECEIVE_PACKETS = _traffic(
    "hostpulse_network_rdma_receive_packets_total",
    "port_rcv_packets",
    "Packets received.",
    "port_packets_received_total",
    Profile.STANDARD,
)
RDMA_TRANSMIT_PACKETS = _traffic(
    "hostpulse_network_rdma_transmit_packets_total",
    "port_xmit_packets",
    "Packets sent.",
    "port_packets_transmitted_total",
    Profile.STANDARD,
)
RDMA_TRANSMIT_WAIT_TICKS = _traffic(
    "hostpulse_network_rdma_transmit_wait_ticks_total",
    "port_xmit_wait",
    "Ticks of the port's clock in which data waited because the other side gave no credit: congestion.",
    "port_transmit_wait_total",
)
RDMA_TRANSMIT_DISCARDS = _traffic(
    "hostpulse_network_rdma_transmit_discards_total",
    "port_xmit_discards",
    "Packets dropped before sending because the port was down or congested.",
    "port_discards_transmitted_total",
)
RDMA_RECEIVE_ERRORS = _traffic(
    "hostpulse_network_rdma_receive_errors_total",
    "port_rcv_errors",
    "Bad packets received.",
    "port_errors_received_total",
)
RDMA_SYMBOL_ERRORS = _error(
    "hostpulse_network_rdma_symbol_errors_total",
    "symbol_error",
    "Errors on the wire: dirty optics, bad cable.",
    "symbol_error_total",
    Profile.CORE,
)
RDMA_LINK_DOWNED = _error(
    "hostpulse_network_rdma_link_downed_total",
    "link_downed",
    "How often the link was lost.",
    "link_downed_total",
    Profile.CORE,
)
RDMA_LINK_ERROR_RECOVERIES = _error(
    "hostpulse_network_rdma_link_error_recoveries_total",
    "link_error_recovery",
    "How often the link recovered from errors by training again.",
    "link_error_recovery_total",
)
RDMA_LOCAL_LINK_INTEGRITY_ERRORS = _error(
    "hostpulse_network_rdma_local_link_integrity_errors_total",
    "local_link_integrity_errors",
    "How often errors on the wire exceeded the port's threshold.",
    "local_link_integrity_errors_total",
)
RDMA_BUFFER_OVERRUN_ERRORS = _error(
    "hostpulse_network_rdma_buffer_overrun_errors_total",
    "excessive_buffer_overrun_errors",
    "How often flow control failed to keep the receive buffer from overrunning.",
    "excessive_buffer_overrun_errors_total",
)
RDMA_REMOTE_PHYSICAL_ERRORS = _error(
    "hostpulse_network_rdma_remote_physical_errors_total",
    "port_rcv_remote_physical_errors",
    "Packets received that a switch on their way had marked as bad.",
    "port_receive_remote_physical_errors_total",
)
RDMA_VL15_DROPPED = _error(
    "hostpulse_network_rdma_vl15_dropped_total",
    "VL15_dropped",
    "Packets of subnet management dropped for want of room.",
    "vl15_dropped_total",
)
RDMA_OUT_OF_SEQUENCE = _hardware(
    "hostpulse_network_rdma_out_of_sequence_total",
    "out_of_sequence",
    "Packets received out of order: the fabric loses or reorders.",
    "out_of_sequence_packets_received_total",
    Profile.CORE,
)
RDMA_OUT_OF_BUFFER = _hardware(
    "hostpulse_network_rdma_out_of_buffer_total",
    "out_of_buffer",
    "Packets dropped because the receiver had no buffer posted.",
    "out_of_buffer_drops_total",
)
RDMA_PACKET_SEQUENCE_ERRORS = _hardware(
    "hostpulse_network_rdma_packet_sequence_errors_total",
    "packet_seq_err",
    "Answers received that say packets were lost.",
    "packet_sequence_errors_total",
)
RDMA_ACK_TIMEOUTS = _hardware(
    "hostpulse_network_rdma_ack_timeouts_total",
    "local_ack_timeout_err",
    "Timers for an answer that ran out: the peer or the fabric stalls.",
    "local_ack_timeout_errors_total",
    Profile.CORE,
)
RDMA_RNR_NAK_RETRIES = _hardware(
    "hostpulse_network_rdma_rnr_nak_retries_total",
    "rnr_nak_retry_err",
    "Answers received that say the peer was not ready.",
    "rnr_nak_retry_packets_received_total",
)
RDMA_CNP_SENT = _hardware(
    "hostpulse_network_rdma_cnp_sent_total",
    "np_cnp_sent",
    "Congestion notifications sent to peers.",
    "np_cnp_packets_sent_total",
)
RDMA_ECN_MARKED_RECEIVED = _hardware(
    "hostpulse_network_rdma_ecn_marked_received_total",
    "np_ecn_marked_roce_packets",
    "Packets received that met congestion on their way.",
    "np_ecn_marked_roce_packets_received_total",
    Profile.CORE,
)
RDMA_CNP_HANDLED = _hardware(
    "hostpulse_network_rdma_cnp_handled_total",
    "rp_cnp_handled",
    "Congestion notifications received and obeyed.",
    "rp_cnp_packets_handled_total",
    Profile.CORE,
)
RDMA_CNP_IGNORED = _hardware(
    "hostpulse_network_rdma_cnp_ignored_total",
    "rp_cnp_ignored",
    "Congestion notifications received and ignored.",
    "rp_cnp_ignored_packets_received_total",
)
RDMA_REQUEST_CQE_ERRORS = _hardware(
    "hostpulse_network_rdma_request_cqe_errors_total",
    "req_cqe_error",
    "Requests that completed with an error.",
    "req_cqes_errors_total",
)
RDMA_RESPONSE_CQE_ERRORS = _hardware(
    "hostpulse_network_rdma_response_cqe_errors_total",
    "resp_cqe_error",
    "Responses that completed with an error.",
    "resp_cqes_errors_total",
)
RDMA_ADAPTIVE_RETRANSMITS = _hardware(
    "hostpulse_network_rdma_adaptive_retransmits_total",
    "roce_adp_retrans",
    "Packets sent again by adaptive retransmission.",
    "roce_adp_retransmits_total",
)
RDMA_DUPLICATE_REQUESTS = _hardware(
    "hostpulse_network_rdma_duplicate_requests_total",
    "duplicate_request",
    "Requests received twice: an answer was lost.",
    "duplicate_requests_packets_total",
)
RDMA_ICRC_ERRORS = _hardware(
    "hostpulse_network_rdma_icrc_errors_total",
    "rx_icrc_encapsulated",
    "Packets received whose checksum was wrong.",
    "rx_icrc_encapsulated_errors_total",
)
RDMA_STATE = Family(
    "hostpulse_network_rdma_state",
    Kind.GAUGE,
    Unit.ENUM,
    "State of the port as InfiniBand numbers it: 1 down, 2 initialising, 3 armed, 4 active, 5 active and deferring.",
    Subsystem.NETWORK,
    _LABELS,
    Tier.SLOW,
    source=f"{_PORT}/state",
    aliases=(Alias("node_infiniband_state_id"),),
)
RDMA_RATE_BYTES_PER_SECOND = Family(
    "hostpulse_network_rdma_rate_bytes_per_second",
    Kind.GAUGE,
    Unit.BYTES_PER_SECOND,
    "Speed that the port was trained at.",
    Subsystem.NETWORK,
    _LABELS,
    Tier.SLOW,
    Profile.STANDARD,
    f"{_PORT}/rate",
    (Alias("node_infiniband_rate_bytes_per_second"),),
)
RDMA_INFO = Family(
    "hostpulse_network_rdma_info",
    Kind.INFO,
    Unit.NONE,
    "What each RDMA port belongs to: board, firmware, link layer, network interface and NUMA node.",
    Subsystem.NETWORK,
    (*_LABELS, "board", "fw", "link_layer", "netdev", "node"),
    Tier.STATIC,
    Profile.STANDARD,
    "/sys/class/infiniband/*/{board_id,fw_ver}, " + f"{_PORT}/link_layer, {_PORT}/gid_attrs/ndevs",
)
