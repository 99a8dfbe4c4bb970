"""The series of a simulated host: what each does at rest, and what each part of the work on it adds."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.families import cpu, gpu, host, memory, network, storage
from catalog.family import Family, Subsystem
from catalog.series import Series

DRIVES = ("compute", "save", "serve", "job", "heat", "cache", "scan", "fetch", "build")
"""What acts on a host: steps of a job, its checkpoints, requests from outside, the memory that a job holds, GPUs that
grow warm, files that stay in the page cache, and three kinds of short other programs."""

SHORT: dict[str, tuple[Subsystem, ...]] = {
    "scan": (Subsystem.STORAGE, Subsystem.MEMORY),
    "fetch": (Subsystem.NETWORK, Subsystem.STORAGE),
    "build": (Subsystem.CPU, Subsystem.MEMORY, Subsystem.HOST),
}
"""The short programs, and which series they move: those that have an amount for ``short``."""

EVENTS = 0.0
"""In place of a noise: a counter of single events, which come by chance."""

_GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class Line:
    """One series: rate (counters) or level (gauges) at ``rest``, what each drive adds at full strength, and the
    standard deviation of its ``noise`` relative to its size."""

    series: Series
    family: Family
    rest: float
    noise: float
    added: dict[str, float]


def _line(family: Family, labels: tuple[object, ...], rest: float, noise: float, **added: float) -> Line:
    short = added.pop("short", 0.0)
    added |= {program: short for program, moved in SHORT.items() if family.subsystem in moved and short}
    return Line(family(*labels), family, rest, noise, added)


def lines(cpus: int = 2, disks: int = 1, interfaces: int = 1, gpus: int = 2) -> tuple[Line, ...]:
    """The series of a host with so many devices."""
    return (
        *(line for number in range(cpus) for line in _of_cpu(number)),
        *_of_the_whole(),
        *(line for number in range(interfaces) for line in _of_interface(f"eth{number}")),
        *(line for number in range(disks) for line in _of_disk(f"vd{_letter(number)}")),
        *(line for number in range(gpus) for line in _of_gpu(number)),
    )


def _letter(number: int) -> str:
    return chr(ord("a") + number)


def _of_cpu(number: int) -> tuple[Line, ...]:
    def seconds(mode: str, rest: float, noise: float, **added: float) -> Line:
        return _line(cpu.SECONDS, (number, mode), rest, noise, **added)

    return (
        seconds("user", 0.03, 0.3, compute=0.45, save=0.1, serve=0.15, short=0.3),
        seconds("system", 0.01, 0.3, compute=0.05, save=0.12, serve=0.05, short=0.1),
        seconds("iowait", 0.002, 0.8, save=0.15, scan=0.1),
        seconds("steal", 0.0, 0.0),
        seconds("idle", 0.95, 0.01, compute=-0.5, save=-0.35, serve=-0.2, build=-0.4, scan=-0.1),
        *(
            _line(cpu.SOFTIRQS, (number, kind), rest, 0.3, compute=most, save=most, serve=most)
            for kind, rest, most in (
                ("TIMER", 100.0, 100.0), ("SCHED", 80.0, 60.0), ("RCU", 80.0, 80.0), ("NET_RX", 50.0, 600.0),
                ("BLOCK", 2.0, 40.0),
            )
        ),
        _line(cpu.INTERRUPTS, (number,), 250.0, 0.2, compute=500.0, save=400.0, serve=400.0, short=150.0),
    )  # fmt: skip


def _of_the_whole() -> tuple[Line, ...]:
    return (
        _line(host.CONTEXT_SWITCHES, (), 1500.0, 0.25, compute=4000.0, save=2500.0, serve=4000.0, short=2000.0),
        _line(host.FORKS, (), 1.0, EVENTS, serve=3.0, short=30.0),
        _line(host.PROCS_RUNNING, (), 1.2, 0.4, compute=2.0, save=0.5, serve=0.5, short=1.0),
        _line(host.PROCS_BLOCKED, (), 0.0, 0.6, save=1.0),
        _line(host.PRESSURE_WAITING_SECONDS, ("cpu",), 0.003, 0.8, compute=0.05, serve=0.02, build=0.1),
        _line(host.PRESSURE_WAITING_SECONDS, ("io",), 0.001, 1.0, save=0.25, scan=0.1),
        _line(host.PRESSURE_WAITING_SECONDS, ("memory",), 0.0, 0.0),
        _line(host.PRESSURE_STALLED_SECONDS, ("io",), 0.0005, 1.0, save=0.08, scan=0.04),
        _line(host.PRESSURE_STALLED_SECONDS, ("memory",), 0.0, 0.0),
        _line(memory.TOTAL_BYTES, (), 64 * _GIGABYTE, 0.0),
        _line(memory.AVAILABLE_BYTES, (), 58 * _GIGABYTE, 0.002, job=-30 * _GIGABYTE, build=-1.5 * _GIGABYTE),
        _line(memory.FREE_BYTES, (), 30 * _GIGABYTE, 0.004, job=-15 * _GIGABYTE, cache=-10 * _GIGABYTE),
        _line(memory.ANON_BYTES, (), 3 * _GIGABYTE, 0.01, job=30 * _GIGABYTE, build=1.5 * _GIGABYTE),
        _line(memory.CACHED_BYTES, (), 12 * _GIGABYTE, 0.0005, cache=10 * _GIGABYTE),
        _line(memory.DIRTY_BYTES, (), 2e6, 0.5, save=1.5 * _GIGABYTE, fetch=1e8),
        _line(memory.WRITEBACK_BYTES, (), 0.0, 0.7, save=8e7),
        _line(memory.PAGE_FAULTS, (), 2500.0, 0.4, compute=3000.0, save=6000.0, serve=4000.0, short=20_000.0),
        _line(memory.MAJOR_PAGE_FAULTS, (), 0.02, EVENTS, scan=2.0, build=2.0),
        _line(memory.OOM_KILLS, (), 0.0, 0.0),
        _line(memory.SCANNED_PAGES, ("kswapd",), 0.0, 0.0),
        _line(network.TCP_SENT_SEGMENTS, (), 300.0, 0.4, compute=8000.0, save=1000.0, serve=6000.0, fetch=1500.0),
        _line(network.TCP_RECEIVED_SEGMENTS, (), 300.0, 0.4, compute=8000.0, serve=6000.0, fetch=3000.0),
        _line(network.TCP_RETRANSMITTED_SEGMENTS, (), 0.02, EVENTS, compute=0.3, serve=0.3, fetch=0.5),
        _line(network.TCP_TIMEOUTS, (), 0.005, EVENTS, serve=0.03),
        _line(network.TCP_ACTIVE_OPENS, (), 0.3, EVENTS, serve=5.0, fetch=3.0),
        _line(network.TCP_PASSIVE_OPENS, (), 0.3, EVENTS, serve=10.0),
        _line(network.TCP_ESTABLISHED_CONNECTIONS, (), 20.0, 0.03, job=16.0, serve=40.0, fetch=4.0),
    )


def _of_interface(name: str) -> tuple[Line, ...]:
    def bytes_and_packets(family: Family, packets: Family) -> tuple[Line, ...]:
        added = {"compute": 1.5e8, "save": 2e7, "serve": 2e7, "fetch": 3e7}
        return (
            _line(family, (name,), 2e5, 0.5, **added),
            _line(packets, (name,), 300.0, 0.4, **{drive: rate / 3000.0 for drive, rate in added.items()}),
        )

    return (
        *bytes_and_packets(network.RECEIVE_BYTES, network.RECEIVE_PACKETS),
        *bytes_and_packets(network.TRANSMIT_BYTES, network.TRANSMIT_PACKETS),
        _line(network.RECEIVE_DROPS, (name,), 0.0, 0.0),
        _line(network.RECEIVE_ERRORS, (name,), 0.0, 0.0),
        _line(network.TRANSMIT_DROPS, (name,), 0.0, 0.0),
    )


def _of_disk(name: str) -> tuple[Line, ...]:
    return (
        _line(storage.READS_COMPLETED, (name,), 0.5, EVENTS, compute=30.0, scan=800.0),
        _line(storage.READ_BYTES, (name,), 1e4, 1.0, compute=2e7, scan=3e7),
        _line(storage.READ_TIME_SECONDS, (name,), 0.0005, 1.0, compute=0.02, scan=0.4),
        _line(storage.WRITES_COMPLETED, (name,), 8.0, 0.6, save=900.0, serve=20.0, fetch=150.0),
        _line(storage.WRITTEN_BYTES, (name,), 1e5, 0.8, save=2.5e8, serve=4e5, fetch=2e7),
        _line(storage.WRITE_TIME_SECONDS, (name,), 0.01, 0.8, save=1.5, serve=0.02, fetch=0.1),
        _line(storage.IO_TIME_SECONDS, (name,), 0.008, 0.6, compute=0.02, save=0.6, scan=0.5, fetch=0.1),
        _line(storage.IO_TIME_WEIGHTED_SECONDS, (name,), 0.01, 0.8, compute=0.03, save=2.0, scan=0.5, fetch=0.1),
    )


def _of_gpu(number: int) -> tuple[Line, ...]:
    return (
        _line(gpu.UP, (number,), 1.0, 0.0),
        _line(gpu.UTILIZATION_RATIO, (number,), 0.0, 0.03, compute=0.95),
        _line(gpu.MEMORY_UTILIZATION_RATIO, (number,), 0.0, 0.06, compute=0.6),
        _line(gpu.MEMORY_USED_BYTES, (number,), 1 * _GIGABYTE, 0.001, job=60 * _GIGABYTE),
        _line(gpu.POWER_WATTS, (number,), 75.0, 0.02, compute=450.0),
        _line(gpu.TEMPERATURE_CELSIUS, (number,), 32.0, 0.01, heat=36.0),
        _line(gpu.CLOCK_HERTZ, (number, "sm"), 3.45e8, 0.005, compute=1.4e9),
    )
