"""Synthetic hosts: frames of a plausible small server at 10 Hz, healthy or with a fault put in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from catalog.families import cpu, host, memory, network, storage
from catalog.family import Family, Kind
from catalog.series import Series
from detector.frame import Floats, Frame

START_S = 1_800_000_000.0
INTERVAL_S = 0.1
INSTANCE = "synthetic:17720"

Amount = Callable[[Floats], Floats]  # seconds since the start, float64[T] -> added rate or level, float64[T]


@dataclass(frozen=True)
class Fault:
    """Adds ``amount`` to the rate (counters) or the level (gauges) of one series."""

    series: Series
    amount: Amount


def during(start_s: float, end_s: float, amount: float) -> Amount:
    """``amount`` between two times, else nothing."""
    return lambda t: np.where((t >= start_s) & (t < end_s), amount, 0.0)


_GIGABYTE = 1e9

# family, label values, mean rate (counter) or level (gauge), relative noise per tick
_SERIES: tuple[tuple[Family, tuple[object, ...], float, float], ...] = (
    *((cpu.SECONDS, (c, "user"), 0.10, 0.5) for c in range(2)),
    *((cpu.SECONDS, (c, "system"), 0.03, 0.5) for c in range(2)),
    *((cpu.SECONDS, (c, "idle"), 0.86, 0.05) for c in range(2)),
    *((cpu.SECONDS, (c, "iowait"), 0.002, 2.0) for c in range(2)),
    *((cpu.SECONDS, (c, "steal"), 0.0, 0.0) for c in range(2)),
    *((cpu.SOFTIRQS, (c, kind), 100.0, 0.3) for c in range(2) for kind in ("TIMER", "SCHED", "RCU", "NET_RX", "BLOCK")),
    *((cpu.INTERRUPTS, (c,), 300.0, 0.2) for c in range(2)),
    (host.CONTEXT_SWITCHES, (), 2000.0, 0.2),
    (host.FORKS, (), 2.0, 1.0),
    (host.PROCS_RUNNING, (), 1.5, 0.3),
    (host.PROCS_BLOCKED, (), 0.0, 0.0),
    *((host.PRESSURE_WAITING_SECONDS, (resource,), 0.005, 1.0) for resource in ("cpu", "io", "memory")),
    *((host.PRESSURE_STALLED_SECONDS, (resource,), 0.001, 1.0) for resource in ("io", "memory")),
    (memory.TOTAL_BYTES, (), 24 * _GIGABYTE, 0.0),
    (memory.AVAILABLE_BYTES, (), 20 * _GIGABYTE, 0.001),
    (memory.ANON_BYTES, (), 2 * _GIGABYTE, 0.005),
    (memory.CACHED_BYTES, (), 5 * _GIGABYTE, 0.0005),
    (memory.DIRTY_BYTES, (), 2e6, 0.5),
    (memory.WRITEBACK_BYTES, (), 0.0, 0.0),
    (memory.PAGE_FAULTS, (), 3000.0, 0.4),
    (memory.OOM_KILLS, (), 0.0, 0.0),
    (memory.SCANNED_PAGES, ("kswapd",), 0.0, 0.0),
    (network.RECEIVE_BYTES, ("eth0",), 4e5, 0.5),
    (network.TRANSMIT_BYTES, ("eth0",), 4e5, 0.5),
    (network.RECEIVE_PACKETS, ("eth0",), 500.0, 0.5),
    (network.TRANSMIT_PACKETS, ("eth0",), 500.0, 0.5),
    (network.RECEIVE_DROPS, ("eth0",), 0.0, 0.0),
    (network.TCP_SENT_SEGMENTS, (), 500.0, 0.5),
    (network.TCP_RECEIVED_SEGMENTS, (), 500.0, 0.5),
    (network.TCP_RETRANSMITTED_SEGMENTS, (), 0.05, 3.0),
    (network.TCP_TIMEOUTS, (), 0.0, 0.0),
    (storage.READS_COMPLETED, ("vda",), 1.0, 2.0),
    (storage.WRITES_COMPLETED, ("vda",), 10.0, 1.0),
    (storage.WRITTEN_BYTES, ("vda",), 1e5, 1.0),
    (storage.READ_BYTES, ("vda",), 1e4, 2.0),
    (storage.WRITE_TIME_SECONDS, ("vda",), 0.01, 1.0),
    (storage.IO_TIME_SECONDS, ("vda",), 0.01, 1.0),
    (storage.IO_TIME_WEIGHTED_SECONDS, ("vda",), 0.01, 1.0),
)


def synthetic_frame(
    duration_s: float, faults: Iterable[Fault] = (), seed: int = 0, interval_s: float = INTERVAL_S
) -> Frame:
    """A host for a while, at 10 Hz by default; the same seed gives the same host, fault or not."""
    generator = np.random.default_rng(seed)
    elapsed_s = interval_s * np.arange(1, round(duration_s / interval_s) + 1, dtype=np.float64)
    # A slow common load moves most series together, as on a real host.
    drift = generator.standard_normal(len(elapsed_s)).cumsum()
    load = 1.0 + 0.3 * np.sin(elapsed_s / 37.0) + 0.002 * drift
    columns, values = [], []
    faults = tuple(faults)
    for family, labels, size, noise in _SERIES:
        series = family(*labels)
        wave = load if family.kind is Kind.COUNTER else np.ones_like(load)
        signal: Floats = size * wave * np.maximum(1.0 + noise * generator.standard_normal(len(elapsed_s)), 0.0)
        for fault in faults:
            if fault.series == series:
                signal = np.maximum(signal + fault.amount(elapsed_s), 0.0)
        columns.append(series)
        values.append(np.cumsum(signal * interval_s) if family.kind is Kind.COUNTER else signal)
    return Frame(INSTANCE, START_S + elapsed_s, np.stack(values, axis=1), tuple(columns))


def fault_of(subsystem: str, start_s: float, end_s: float) -> tuple[Fault, ...]:
    """What a fault of a subsystem does to its host between two times."""
    return tuple(Fault(series, during(start_s, end_s, amount)) for series, amount in _FAULTS[subsystem])


def weak_fault_of(subsystem: str, start_s: float, end_s: float) -> tuple[Fault, ...]:
    """A fiftieth of ``fault_of``."""
    return tuple(Fault(series, during(start_s, end_s, amount / 50)) for series, amount in _FAULTS[subsystem])


_FAULTS: dict[str, tuple[tuple[Series, float], ...]] = {
    "cpu": (
        *((cpu.SECONDS(c, "user"), 0.8) for c in range(2)),
        *((cpu.SECONDS(c, "idle"), -0.8) for c in range(2)),
        (host.PROCS_RUNNING(), 8.0),
        (host.PRESSURE_WAITING_SECONDS("cpu"), 0.6),
        (host.CONTEXT_SWITCHES(), 4000.0),
    ),
    "memory": (
        (memory.AVAILABLE_BYTES(), -17 * _GIGABYTE),
        (memory.ANON_BYTES(), 17 * _GIGABYTE),
        (memory.SCANNED_PAGES("kswapd"), 20_000.0),
        (memory.PAGE_FAULTS(), 50_000.0),
        (host.PRESSURE_WAITING_SECONDS("memory"), 0.3),
        (host.PRESSURE_STALLED_SECONDS("memory"), 0.1),
    ),
    "network": (
        (network.TCP_RETRANSMITTED_SEGMENTS(), 30.0),
        (network.TCP_TIMEOUTS(), 5.0),
        (network.RECEIVE_DROPS("eth0"), 20.0),
    ),
    "storage": (
        (cpu.SECONDS(0, "iowait"), 0.5),
        (storage.WRITTEN_BYTES("vda"), 1e8),
        (storage.WRITE_TIME_SECONDS("vda"), 2.0),
        (storage.IO_TIME_SECONDS("vda"), 0.9),
        (storage.IO_TIME_WEIGHTED_SECONDS("vda"), 4.0),
        (host.PROCS_BLOCKED(), 3.0),
        (host.PRESSURE_WAITING_SECONDS("io"), 0.5),
    ),
}

FAULTY: tuple[str, ...] = tuple(_FAULTS)
"""The subsystems that a fault can be put into."""


def without(frame: Frame, start_s: float, end_s: float) -> Frame:
    """The frame of a host whose exporter was down between two times."""
    elapsed_s = frame.times_s - START_S
    kept = (elapsed_s <= start_s) | (elapsed_s > end_s)
    return Frame(frame.instance, frame.times_s[kept], frame.values[kept], frame.columns)


def changed(frame: Frame, start_s: float, change: Callable[[Series, Floats], Floats]) -> Frame:
    """The frame with the values of each series after a time as ``change`` makes them of those that they were."""
    values, later = frame.values.copy(), frame.times_s - START_S > start_s
    for column, series in enumerate(frame.columns):
        values[later, column] = change(series, values[later, column])
    return Frame(frame.instance, frame.times_s, values, frame.columns)
