"""Samples of the past, written into a real VictoriaMetrics through its import API: no test waits for minutes to pass.

https://docs.victoriametrics.com/victoriametrics/#how-to-import-data-in-prometheus-exposition-format
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import requests

from catalog.series import Series
from tests.servers import Server

NOISE = 0.02
Times = Sequence[float] | np.ndarray


def write(store: Server, lines: Iterable[str]) -> None:
    """Import lines ``name{labels} value milliseconds`` and wait until they can be read."""
    reply = requests.post(f"{store.url}/api/v1/import/prometheus", data="\n".join(lines).encode(), timeout=30)
    reply.raise_for_status()
    store.get("/internal/force_flush")


def counter(series: Series, times_s: Times, rate: Callable[[np.ndarray], np.ndarray], seed: int = 0) -> list[str]:
    """A counter that grows with ``rate`` per second, a little noisy."""
    at_s = np.asarray(times_s)
    elapsed_s = np.diff(at_s, prepend=at_s[0])
    noise = 1 + NOISE * np.random.default_rng(seed).standard_normal(len(at_s))
    return _lines(series, at_s, 1000.0 + np.cumsum(rate(at_s) * elapsed_s * noise))


def gauge(series: Series, times_s: Times, level: Callable[[np.ndarray], np.ndarray], seed: int = 0) -> list[str]:
    """A gauge around ``level``, a little noisy."""
    at_s = np.asarray(times_s)
    return _lines(series, at_s, level(at_s) * (1 + NOISE * np.random.default_rng(seed).standard_normal(len(at_s))))


def _lines(series: Series, at_s: np.ndarray, values: np.ndarray) -> list[str]:
    return [f"{series} {value!r} {round(time_s * 1000)}" for time_s, value in zip(at_s, values.tolist(), strict=True)]


def labelled(name: str, target: Mapping[str, str], **labels: str) -> Series:
    """A series of a scraped target."""
    return Series(name, (*labels.items(), *target.items()))


_PER_SECOND: tuple[tuple[str, dict[str, str], float], ...] = (
    *(("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "idle"}, 0.7) for cpu in range(4)),
    *(("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "user"}, 0.2) for cpu in range(4)),
    *(("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "system"}, 0.1) for cpu in range(4)),
    ("node_context_switches_total", {}, 9000.0),
    ("node_forks_total", {}, 8.0),
    ("node_pressure_cpu_waiting_seconds_total", {}, 0.05),
    ("node_pressure_io_waiting_seconds_total", {}, 0.01),
    ("node_pressure_io_stalled_seconds_total", {}, 0.005),
    ("node_pressure_memory_waiting_seconds_total", {}, 0.0),
    ("node_vmstat_pgfault", {}, 5000.0),
    ("node_vmstat_pgmajfault", {}, 2.0),
    ("node_network_receive_bytes_total", {"device": "eth0"}, 3e6),
    ("node_network_transmit_bytes_total", {"device": "eth0"}, 2e6),
    ("node_network_receive_drop_total", {"device": "eth0"}, 0.0),
    ("node_netstat_Tcp_InSegs", {}, 4000.0),
    ("node_netstat_Tcp_OutSegs", {}, 4000.0),
    ("node_netstat_Tcp_RetransSegs", {}, 1.0),
    ("node_disk_reads_completed_total", {"device": "sda"}, 50.0),
    ("node_disk_read_bytes_total", {"device": "sda"}, 2e6),
    ("node_disk_read_time_seconds_total", {"device": "sda"}, 0.05),
    ("node_disk_writes_completed_total", {"device": "sda"}, 80.0),
    ("node_disk_written_bytes_total", {"device": "sda"}, 4e6),
    ("node_disk_write_time_seconds_total", {"device": "sda"}, 0.2),
    ("node_disk_io_time_seconds_total", {"device": "sda"}, 0.1),
    ("node_disk_io_time_weighted_seconds_total", {"device": "sda"}, 0.25),
)
_LEVELS: tuple[tuple[str, dict[str, str], float], ...] = (
    ("node_memory_MemFree_bytes", {}, 20e9),
    ("node_memory_MemAvailable_bytes", {}, 40e9),
    ("node_memory_Cached_bytes", {}, 15e9),
    ("node_memory_Dirty_bytes", {}, 2e6),
    ("node_memory_Writeback_bytes", {}, 1e5),
    ("node_memory_AnonPages_bytes", {}, 16e9),
    ("node_procs_running", {}, 3.0),
    ("node_procs_blocked", {}, 0.5),
    ("node_load1", {}, 1.2),
)
FULL_DISK = {
    "node_pressure_io_waiting_seconds_total": 60.0,
    "node_pressure_io_stalled_seconds_total": 60.0,
    "node_disk_write_time_seconds_total": 40.0,
    "node_disk_io_time_seconds_total": 9.0,
    "node_disk_io_time_weighted_seconds_total": 40.0,
    "node_procs_blocked": 12.0,
    "node_memory_Writeback_bytes": 50.0,
}
"""By how much each rises when a disk can take no more."""


def node_host(
    target: Mapping[str, str], times_s: Times, fault: Mapping[str, float] | None = None, from_s: float = float("inf")
) -> list[str]:
    """What node_exporter told of a busy host: ``fault`` multiplies what it names from ``from_s`` on."""
    lines = _lines(labelled("node_memory_MemTotal_bytes", target), np.asarray(times_s), np.full(len(times_s), 64e9))
    for made, rows in ((counter, _PER_SECOND), (gauge, _LEVELS)):
        for number, (name, labels, usual) in enumerate(rows):
            factor = (fault or {}).get(name, 1.0)
            course = lambda at_s, usual=usual, factor=factor: usual * np.where(at_s > from_s, factor, 1.0)  # noqa: E731
            lines += made(labelled(name, target, **labels), times_s, course, number)
    return lines
