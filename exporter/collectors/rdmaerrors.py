"""Errors and retries of RDMA ports.

https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html
"""

from __future__ import annotations

from catalog.families import rdma
from catalog.family import Tier
from exporter.rdma import PORTS, RdmaCollector

_FAMILIES = {
    "counters/symbol_error": rdma.RDMA_SYMBOL_ERRORS,
    "counters/link_downed": rdma.RDMA_LINK_DOWNED,
    "counters/link_error_recovery": rdma.RDMA_LINK_ERROR_RECOVERIES,
    "counters/local_link_integrity_errors": rdma.RDMA_LOCAL_LINK_INTEGRITY_ERRORS,
    "counters/excessive_buffer_overrun_errors": rdma.RDMA_BUFFER_OVERRUN_ERRORS,
    "counters/port_rcv_remote_physical_errors": rdma.RDMA_REMOTE_PHYSICAL_ERRORS,
    "counters/VL15_dropped": rdma.RDMA_VL15_DROPPED,
    "hw_counters/out_of_sequence": rdma.RDMA_OUT_OF_SEQUENCE,
    "hw_counters/out_of_buffer": rdma.RDMA_OUT_OF_BUFFER,
    "hw_counters/packet_seq_err": rdma.RDMA_PACKET_SEQUENCE_ERRORS,
    "hw_counters/local_ack_timeout_err": rdma.RDMA_ACK_TIMEOUTS,
    "hw_counters/rnr_nak_retry_err": rdma.RDMA_RNR_NAK_RETRIES,
    "hw_counters/np_cnp_sent": rdma.RDMA_CNP_SENT,
    "hw_counters/np_ecn_marked_roce_packets": rdma.RDMA_ECN_MARKED_RECEIVED,
    "hw_counters/rp_cnp_handled": rdma.RDMA_CNP_HANDLED,
    "hw_counters/rp_cnp_ignored": rdma.RDMA_CNP_IGNORED,
    "hw_counters/req_cqe_error": rdma.RDMA_REQUEST_CQE_ERRORS,
    "hw_counters/resp_cqe_error": rdma.RDMA_RESPONSE_CQE_ERRORS,
    "hw_counters/roce_adp_retrans": rdma.RDMA_ADAPTIVE_RETRANSMITS,
    "hw_counters/duplicate_request": rdma.RDMA_DUPLICATE_REQUESTS,
    "hw_counters/rx_icrc_encapsulated": rdma.RDMA_ICRC_ERRORS,
}
_FIELDS = {file: (family, 1.0) for file, family in _FAMILIES.items()}


class RdmaerrorsCollector(RdmaCollector):
    """One file a counter and port."""

    name = "rdmaerrors"
    tier = Tier.MEDIUM
    fields = _FIELDS
    families = tuple(_FAMILIES.values())
    sources = tuple(f"{PORTS}/{file}" for file in _FAMILIES)
