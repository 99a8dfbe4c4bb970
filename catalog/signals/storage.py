"""Storage signals: throughput, latency and queues by device, writeback, room on filesystems."""

from __future__ import annotations

from functools import partial

from catalog.expression import at_least, level, mean, rate, ratio, total
from catalog.families import cpu, host, memory, storage
from catalog.family import Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.STORAGE, role=Role.UTILISATION, worse=Worse.EITHER)
_saturation = partial(Signal, subsystem=Subsystem.STORAGE, role=Role.SATURATION)
_state = partial(Signal, subsystem=Subsystem.STORAGE, role=Role.STATE)
_error = partial(Signal, subsystem=Subsystem.STORAGE, role=Role.ERROR)

_MEGABYTE = 1e6

SIGNALS: tuple[Signal, ...] = (
    _utilisation(
        "storage_reads_per_second",
        "Reads completed by device.",
        rate(storage.READS_COMPLETED),
        "1/s",
        floor=20.0,
    ),
    _utilisation(
        "storage_writes_per_second",
        "Writes completed by device.",
        rate(storage.WRITES_COMPLETED),
        "1/s",
        floor=20.0,
    ),
    _utilisation(
        "storage_read_bytes_per_second",
        "Bytes read by device.",
        rate(storage.READ_BYTES),
        "B/s",
        floor=2 * _MEGABYTE,
    ),
    _utilisation(
        "storage_written_bytes_per_second",
        "Bytes written by device.",
        rate(storage.WRITTEN_BYTES),
        "B/s",
        floor=2 * _MEGABYTE,
    ),
    _utilisation(
        "storage_busy_ratio",
        "Share of time in which a device had work.",
        rate(storage.IO_TIME_SECONDS),
        "ratio",
        floor=0.05,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "storage_read_latency_seconds",
        "Mean time of a read.",
        ratio(rate(storage.READ_TIME_SECONDS), at_least(rate(storage.READS_COMPLETED), 10.0)),
        "s",
        floor=0.005,
    ),
    _saturation(
        "storage_write_latency_seconds",
        "Mean time of a write.",
        ratio(rate(storage.WRITE_TIME_SECONDS), at_least(rate(storage.WRITES_COMPLETED), 10.0)),
        "s",
        floor=0.005,
    ),
    _saturation(
        "storage_flush_latency_seconds",
        "Mean time of a flush.",
        ratio(rate(storage.FLUSH_TIME_SECONDS), at_least(rate(storage.FLUSHES_COMPLETED), 10.0)),
        "s",
        floor=0.005,
    ),
    _saturation(
        "storage_queue_length",
        "Mean number of requests waiting or served, by device.",
        rate(storage.IO_TIME_WEIGHTED_SECONDS),
        "",
        floor=0.5,
    ),
    _saturation("storage_requests_now", "Requests waiting or served, by device.", level(storage.IO_NOW), "", floor=2.0),
    _utilisation(
        "storage_flushes_per_second", "Flushes completed by device.", rate(storage.FLUSHES_COMPLETED), "1/s", floor=5.0
    ),
    _saturation(
        "storage_iowait_ratio",
        "Share of CPU time idle while a task waited for storage.",
        mean(rate(cpu.SECONDS, mode="iowait"), "cpu", "mode"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "storage_pressure_ratio",
        "Share of time in which some task waited for storage.",
        total(rate(host.PRESSURE_WAITING_SECONDS, resource="io"), "resource"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "storage_stalled_ratio",
        "Share of time in which all tasks waited for storage.",
        total(rate(host.PRESSURE_STALLED_SECONDS, resource="io"), "resource"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "storage_blocked_tasks", "Tasks that wait for storage or a driver.", level(host.PROCS_BLOCKED), "", floor=1.0
    ),
    _utilisation(
        "storage_softirq_block_per_second",
        "Soft interrupts that complete requests.",
        total(rate(cpu.SOFTIRQS, type="BLOCK"), "cpu", "type"),
        "1/s",
        floor=50.0,
    ),
    _saturation(
        "storage_dirty_bytes",
        "Page cache that waits to be written.",
        level(memory.DIRTY_BYTES),
        "B",
        floor=64 * _MEGABYTE,
    ),
    _saturation(
        "storage_writeback_bytes",
        "Page cache that is being written.",
        level(memory.WRITEBACK_BYTES),
        "B",
        floor=16 * _MEGABYTE,
    ),
    _utilisation(
        "storage_dirtied_pages_per_second",
        "Pages of the page cache that programs changed.",
        rate(memory.DIRTIED_PAGES),
        "1/s",
        floor=500.0,
    ),
    _state(
        "storage_filesystem_available_ratio",
        "Share of each filesystem that may still be filled.",
        ratio(level(storage.FILESYSTEM_AVAIL_BYTES), level(storage.FILESYSTEM_SIZE_BYTES)),
        "ratio",
        floor=0.05,
        worse=Worse.LOWER,
        scale=Scale.LINEAR,
    ),
    _error(
        "storage_filesystem_readonly",
        "Whether a filesystem was remounted read-only.",
        level(storage.FILESYSTEM_READONLY),
        "",
        floor=0.1,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "storage_nvme_temperature_celsius",
        "Temperature of each NVMe sensor.",
        level(storage.NVME_TEMPERATURE_CELSIUS),
        "°C",
        floor=5.0,
        worse=Worse.HIGHER,
        scale=Scale.LINEAR,
    ),
)
