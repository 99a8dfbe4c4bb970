"""What a host is, in words: out of what its exporter tells."""

from __future__ import annotations

import numpy as np

from catalog.families import cgroup, cpu, exporter, gpu, host, memory, network
from catalog.series import Series
from detector.facts import CONSTANTS, constants_in, facts_of
from detector.frame import Frame
from tests.detector.synthetic import synthetic_frame

HOST = (
    host.INFO("node7", "6.8.0", "Debian 12", "Maker", "Server", "1.2", ""),
    *(cpu.INFO(package, "v", "6", "1", "1", "0xb", "Xeon 8480") for package in range(2)),
    *(cpu.TOPOLOGY_INFO(number, number, number // 2, 0, number // 2) for number in range(4)),
    *(gpu.INFO(number, "u", "H200", "570.1", "12.8", "v", "s", "p", "9.0", "0") for number in range(8)),
    network.INFO("eth0", "a", "full", "mlx5_core", "p", "0"),
    cpu.INTERRUPT_AFFINITY_INFO("90", "60", "3", "40"),
    cgroup.CGROUP_LIMIT_INFO("jobs.slice", "150000 100000", "", "8589934592"),
    exporter.BUILD_INFO("1.0", "abc", "3.11"),
)


def frame(**levels: float) -> Frame:
    columns: dict[Series, float] = {
        memory.TOTAL_BYTES(): 2e12,
        memory.HUGEPAGES("0", "1048576kB", "total"): 300.0,
        memory.HUGEPAGES("1", "1048576kB", "total"): 200.0,
        memory.HUGEPAGES("0", "1048576kB", "free"): 12.0,
        memory.HUGEPAGES("0", "2048kB", "total"): 0.0,
        network.SPEED_BYTES_PER_SECOND("eth0"): 5e10,
        network.SPEED_BYTES_PER_SECOND("eth1"): np.nan,
    }
    return Frame("node7", np.array([1.0]), np.array([list(columns.values())]), tuple(columns))


def test_facts_say_what_an_engineer_asks_first() -> None:
    assert facts_of(HOST, frame()) == {
        "system": "Debian 12, 6.8.0, Maker, Server, 1.2",
        "CPUs": "2 × Xeon 8480 (0xb), 4 CPUs",
        "NUMA": "2 nodes",
        "interrupts": "90, of which 60 are bound to one CPU; CPU 3 serves 40 of them",
        "limits": "jobs.slice (cpu_max 150000 100000, memory_max 8589934592)",
        "memory": "2 TB",
        "huge pages": "1048576kB: 500, 12 free",
        "GPUs": "8 × H200; driver 570.1, CUDA 12.8",
        "network": "eth0 (mlx5_core, 400 Gb/s)",
        "exporter": "1.0",
    }


def test_what_is_not_known_is_left_out() -> None:
    assert facts_of((), synthetic_frame(1.0)) == {"memory": "24 GB"}
    assert facts_of((), Frame("a", np.empty(0), np.empty((0, 0)), ())) == {}


def test_long_lists_are_cut_short() -> None:
    many = [network.INFO(f"eth{number}", "a", "", "", "", "") for number in range(20)]
    assert facts_of(many, frame())["network"].endswith("; and 12 more")


def test_constants_are_found_in_an_exposition() -> None:
    text = (
        "# TYPE hostpulse_host_info gauge\n" + "".join(f"{one} 1\n" for one in HOST) + "hostpulse_cpu_info{x 1\nup 1\n"
    )
    assert constants_in(text) == list(HOST)
    assert "hostpulse_host_info" in CONSTANTS
