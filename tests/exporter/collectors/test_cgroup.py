"""Control groups of both versions, in written trees: a slice that is held back, one out of memory, one that comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.family import Profile
from exporter.collector import Collector, Unavailable
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import written

_ROOT = "/sys/fs/cgroup"
_CPU = "usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods {periods}\nnr_throttled 30\nthrottled_usec 2090000\n"
_EVENTS = "low 0\nhigh 5\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n"
SECOND = {
    f"{_ROOT}/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{_ROOT}/cpu.stat": "usage_usec 1\n",
    f"{_ROOT}/system.slice/cpu.stat": _CPU.format(periods=31),
    f"{_ROOT}/system.slice/memory.events": _EVENTS,
    f"{_ROOT}/init.scope/cpu.stat": "usage_usec 100\nuser_usec 60\nsystem_usec 40\n",
    f"{_ROOT}/0123456789abcdef/memory.events": _EVENTS,
}
FIRST = {
    f"{_ROOT}/cpu/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
    f"{_ROOT}/cpu/docker/cpu.stat": "nr_periods 31\nnr_throttled 30\nthrottled_time 2090000000\n",
    f"{_ROOT}/memory/docker/memory.failcnt": "195\n",
    f"{_ROOT}/memory/docker/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
}


def test_slice_of_version_2_tells_its_throttling_and_its_memory_events(tmp_path: Path) -> None:
    assert reading("cgroup", written(tmp_path, SECOND)) == {
        'cpu_cgroup_throttles_total{cgroup="system.slice"}': 30,
        'cpu_cgroup_throttled_seconds_total{cgroup="system.slice"}': pytest.approx(2.09),
        'memory_cgroup_events_total{cgroup="system.slice",event="high"}': 5,
        'memory_cgroup_events_total{cgroup="system.slice",event="max"}': 7,
        'memory_cgroup_events_total{cgroup="system.slice",event="oom"}': 2,
        'memory_cgroup_events_total{cgroup="system.slice",event="oom_kill"}': 1,
    }


def test_group_of_version_1_is_told_in_the_same_families(tmp_path: Path) -> None:
    assert reading("cgroup", written(tmp_path, FIRST)) == {
        'cpu_cgroup_throttles_total{cgroup="docker"}': 30,
        'cpu_cgroup_throttled_seconds_total{cgroup="docker"}': pytest.approx(2.09),
        'memory_cgroup_events_total{cgroup="docker",event="max"}': 195,
        'memory_cgroup_events_total{cgroup="docker",event="oom_kill"}': 1,
    }


def _later(collector: Collector) -> dict[str, float]:
    """What it reads ten seconds later."""
    return [latest(collector) for _ in range(10)][-1]


def test_slices_that_come_and_go_are_followed(tmp_path: Path) -> None:
    collector = opened("cgroup", written(tmp_path, SECOND), Profile.CORE)
    written(tmp_path, {f"{_ROOT}/kubepods.slice/memory.events": _EVENTS.replace("oom_kill 1", "oom_kill 9")})
    assert _later(collector)['memory_cgroup_events_total{cgroup="kubepods.slice",event="oom_kill"}'] == 9
    (tmp_path / "sys/fs/cgroup/kubepods.slice/memory.events").unlink()
    (tmp_path / "sys/fs/cgroup/kubepods.slice").rmdir()
    assert not [name for name in _later(collector) if "kubepods" in name]
    collector.close()


def test_host_whose_groups_have_no_controllers_says_so(tmp_path: Path) -> None:
    files = {f"{_ROOT}/cgroup.controllers": "\n", f"{_ROOT}/system.slice/cpu.stat": "usage_usec 1\n"}
    with pytest.raises(Unavailable, match="no control groups with a CPU or memory controller"):
        opened("cgroup", written(tmp_path, files))
