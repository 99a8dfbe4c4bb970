"""What holds a host back by somebody's will: limits of control groups, and where interrupts may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.collector import Unavailable
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import written
from tests.hosts.hardware import hardware

ROOT = "/sys/fs/cgroup"


def test_limits_of_named_groups_are_told_as_the_kernel_writes_them(tmp_path: Path) -> None:
    host = written(
        tmp_path,
        {
            f"{ROOT}/system.slice/cpu.max": "max 100000\n",
            f"{ROOT}/system.slice/memory.max": "max\n",
            f"{ROOT}/jobs.slice/cpu.max": "150000 100000\n",
            f"{ROOT}/jobs.slice/memory.high": "max\n",
            f"{ROOT}/jobs.slice/memory.max": "8589934592\n",
            f"{ROOT}/0123456789abcdef/memory.max": "1\n",
        },
    )
    labels = 'cgroup="jobs.slice",cpu_max="150000 100000",memory_high="",memory_max="8589934592"'
    assert reading("cgrouplimits", host) == {f"cpu_cgroup_limit_info{{{labels}}}": 1}


def test_affinity_is_summed_up_by_where_interrupts_go(tmp_path: Path) -> None:
    labels = 'interrupts="3",bound="2",busiest="2",on_busiest="2"'
    assert reading("irqaffinity", hardware(tmp_path)) == {f"cpu_interrupt_affinity_info{{{labels}}}": 1}


def test_affinity_is_that_of_the_start(tmp_path: Path) -> None:
    collector = opened("irqaffinity", hardware(tmp_path))
    before = latest(collector)
    written(tmp_path, {"/proc/irq/25/effective_affinity_list": "3\n"})
    assert latest(collector) == before
    collector.close()


@pytest.mark.parametrize("name", ["cgrouplimits", "irqaffinity"])
def test_host_without_any_of_it_has_no_series(name: str, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        reading(name, written(tmp_path, {f"{ROOT}/a/memory.max": "max\n"}))
