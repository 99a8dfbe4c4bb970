"""The board of one host: the verdict, then a row for each subsystem with the signals that matter; the rest is folded.

Rows follow https://www.brendangregg.com/usemethod.html: saturation and errors beside utilisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grafana_foundation_sdk.builders import dashboard, timeseries

from catalog.signal import JUDGED_SUBSYSTEMS
from deploy.grafana import chosen, verdict
from deploy.grafana.board import board as new_board
from deploy.grafana.board import mark_episodes, row
from deploy.grafana.panels import stacked
from deploy.grafana.signals import chart, headed, others

_TIME = "Time in each mode"
SHOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {  # subsystem -> title of a panel -> its signals
    "cpu": {
        _TIME: ("cpu_user_ratio", "cpu_nice_ratio", "cpu_system_ratio", "cpu_irq_ratio", "cpu_softirq_ratio"),
        "Kept waiting": ("cpu_pressure_ratio", "cpu_steal_ratio", "cpu_cgroup_throttled_ratio"),
        "Uneven": ("cpu_idle_spread_ratio", "cpu_interrupt_imbalance_ratio"),
        "Tasks that can run": ("cpu_running_tasks",),
        "Switches and interrupts": ("cpu_context_switches_per_second", "cpu_interrupts_per_second"),
        "New processes": ("cpu_forks_per_second",),
    },
    "memory": {
        "Room": ("memory_available_ratio", "memory_anon_ratio", "memory_mlocked_ratio"),
        "Kept waiting": ("memory_pressure_ratio", "memory_stalled_ratio"),
        "Growth": (
            "memory_anon_change_bytes_per_second",
            "memory_cached_change_bytes_per_second",
            "memory_shmem_change_bytes_per_second",
        ),
        "Faults": ("memory_page_faults_per_second", "memory_major_page_faults_per_second"),
        "Reclaim": (
            "memory_scanned_pages_per_second",
            "memory_direct_reclaim_pages_per_second",
            "memory_allocation_stalls_per_second",
            "memory_refaults_per_second",
        ),
        "Swap and kills": (
            "memory_swapped_in_pages_per_second",
            "memory_swapped_out_pages_per_second",
            "memory_oom_kills_per_second",
        ),
    },
    "network": {
        "Throughput": ("network_receive_bytes_per_second", "network_transmit_bytes_per_second"),
        "Packets": ("network_receive_packets_per_second", "network_transmit_packets_per_second"),
        "Dropped or damaged": (
            "network_receive_drops_per_second",
            "network_transmit_drops_per_second",
            "network_receive_errors_per_second",
            "network_transmit_errors_per_second",
            "network_softnet_drops_per_second",
            "network_softnet_squeezes_per_second",
        ),
        "Segments sent again": ("network_tcp_retransmission_ratio",),
        "Trouble of TCP": (
            "network_tcp_retransmitted_segments_per_second",
            "network_tcp_lost_retransmits_per_second",
            "network_tcp_timeouts_per_second",
            "network_tcp_listen_overflows_per_second",
            "network_tcp_listen_drops_per_second",
        ),
        "Connections": ("network_tcp_established_connections",),
    },
    "storage": {
        "Throughput": ("storage_read_bytes_per_second", "storage_written_bytes_per_second"),
        "Requests": ("storage_reads_per_second", "storage_writes_per_second"),
        "Latency": (
            "storage_read_latency_seconds",
            "storage_write_latency_seconds",
            "storage_flush_latency_seconds",
        ),
        "Busy and kept waiting": (
            "storage_busy_ratio",
            "storage_iowait_ratio",
            "storage_pressure_ratio",
            "storage_stalled_ratio",
        ),
        "Queues": ("storage_queue_length", "storage_requests_now", "storage_blocked_tasks"),
        "Page cache not yet written": ("storage_dirty_bytes", "storage_writeback_bytes"),
    },
}


def board() -> dashboard.Dashboard:
    """Is this host's hardware behaving as it always does, and if not, what does not?"""
    question = "Is this host's hardware behaving as it always does, and if not, what does not?"
    built = new_board("host", "one host", question, (chosen.host(*chosen.ANY_HOST), chosen.detector()))
    mark_episodes(built)
    row(built, "Verdict", (*verdict.figures(), verdict.scores(), verdict.shares(), verdict.episodes()))
    for subsystem, panels in SHOWN.items():
        row(built, headed(subsystem), (_panel(title, names) for title, names in panels.items()))
    for subsystem in JUDGED_SUBSYSTEMS:
        row(built, f"{headed(subsystem)}: all other signals", _others(subsystem), collapsed=True)
    return built


def _panel(title: str, names: tuple[str, ...]) -> timeseries.Panel:
    panel = chart(title, names)
    return stacked(panel) if title == _TIME else panel


def _others(subsystem: str) -> Iterator[timeseries.Panel]:
    return others(subsystem, (name for names in SHOWN.get(subsystem, {}).values() for name in names))
