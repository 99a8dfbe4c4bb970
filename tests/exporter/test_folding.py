"""Series of many CPUs folded into nodes and packages: nothing is lost, nothing runs backwards, signals stay."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

from catalog.families import cpu, perf
from catalog.family import Profile, Tier
from catalog.series import Series
from detector.channels import evaluate
from detector.frame import Frame
from exporter.collector import Collector, Context, discover
from exporter.engine import Engine
from exporter.exposition import Format
from exporter.folding import Granularity, folder
from exporter.host import Host
from exporter.settings import Settings
from tests.exporter.collectors import latest
from tests.hosts import context, written


def _tree(folder_: Path, ticks: Sequence[int], cpus: Sequence[int] = (0, 1, 2, 3)) -> Host:
    """A host of four CPUs on two nodes and one package; each has so many user ticks and as many timer interrupts."""
    rows = "".join(f"cpu{number} {ticks[number]} 0 0 0 0 0 0 0 0 0\n" for number in cpus)
    table = "".join(f" CPU{number}" for number in cpus)
    counts = " ".join(str(ticks[number]) for number in cpus)
    return written(
        folder_,
        {
            "/proc/stat": f"cpu 0 0 0 0 0 0 0 0 0 0\n{rows}intr 5 0\nctxt 7\nbtime 1\nprocesses 2\n",
            "/proc/softirqs": f"{table}\nTIMER: {counts}\n",
            "/sys/devices/system/cpu/present": "0-3\n",
            "/sys/devices/system/node/node0/cpulist": "0-1\n",
            "/sys/devices/system/node/node1/cpulist": "2-3\n",
            "/sys/devices/system/node/node2/cpulist": "\n",
            **{f"/sys/devices/system/cpu/cpu{n}/topology/physical_package_id": f"{-(n % 2)}\n" for n in range(4)},
        },
    )


def _opened(name: str, host: Host, granularity: Granularity = Granularity.NUMA) -> Collector:
    return folder(host, granularity)(discover()[name](context(host)))


def _user(values: dict[str, float]) -> dict[str, float]:
    seconds = {name: value for name, value in values.items() if name.startswith("cpu_seconds_total")}
    return {name.split('"')[1]: value for name, value in seconds.items() if 'mode="user"' in name}


def test_times_are_averaged_and_counts_summed_over_a_node(tmp_path: Path) -> None:
    host = _tree(tmp_path, (100, 300, 500, 900))
    stat = latest(_opened("stat", host))
    assert _user(stat) == {"node0": 2.0, "node1": 7.0}
    assert stat["host_context_switches_total"] == 7
    assert latest(_opened("softirqs", host)) == {
        'cpu_softirqs_total{cpu="node0",type="TIMER"}': 400,
        'cpu_softirqs_total{cpu="node1",type="TIMER"}': 1400,
    }


def test_packages_are_folded_likewise_and_one_that_firmware_does_not_know_is_the_first(tmp_path: Path) -> None:
    assert latest(_opened("softirqs", _tree(tmp_path, (1, 2, 3, 4)), Granularity.PACKAGE)) == {
        'cpu_softirqs_total{cpu="package0",type="TIMER"}': 10
    }


def test_host_without_nodes_is_one_place(tmp_path: Path) -> None:
    files = {"/proc/softirqs": " CPU0 CPU1\nTIMER: 3 4\n"}
    assert latest(_opened("softirqs", written(tmp_path, files))) == {'cpu_softirqs_total{cpu="node0",type="TIMER"}': 7}


def test_cpu_that_goes_offline_and_comes_back_makes_no_counter_run_backwards(tmp_path: Path) -> None:
    collector = _opened("stat", _tree(tmp_path, (100, 300, 500, 900)))
    layout = collector.series
    latest(collector)
    _tree(tmp_path, (120, 300, 500, 900), (0, 2, 3))
    assert _user(latest(collector)) == {"node0": pytest.approx(2.2), "node1": 7.0}
    assert collector.series is layout, "a node stays while it has a CPU"
    _tree(tmp_path, (140, 10, 500, 900))
    assert _user(latest(collector))["node0"] == pytest.approx(2.3), "one that came counts from then on"
    _tree(tmp_path, (140, 30, 500, 900))
    assert _user(latest(collector))["node0"] == pytest.approx(2.4)
    collector.close()


def test_node_whose_cpus_all_went_has_no_series(tmp_path: Path) -> None:
    collector = _opened("softirqs", _tree(tmp_path, (1, 2, 3, 4)))
    latest(collector)
    _tree(tmp_path, (1, 2, 3, 4), (0, 1))
    assert latest(collector) == {'cpu_softirqs_total{cpu="node0",type="TIMER"}': 3}
    collector.close()


class _Scripted(Collector):
    """Returns what the test puts there."""

    name, tier, sources = "scripted", Tier.FAST, ()
    families = (perf.MIGRATIONS, perf.PERF_RUNNING_RATIO, cpu.ONLINE)

    def __init__(self, context: Context) -> None:
        del context
        self.values: list[float] = []
        self.series: tuple[Series, ...] = ()

    def read(self) -> list[float]:
        return self.values


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([(5, 5), (nan, 8), (9, 9)], [10, 13, 18]),
        ([(5, 5), (nan, nan), (6, 6)], [10, nan, 12]),
        ([(5, 5), (1, 7), (3, 7)], [10, 12, 14]),
        ([(nan, 5), (4, 6), (6, 6)], [5, 10, 12]),
    ],
    ids=["one is missing", "both are missing", "one begins anew", "one is missing at first"],
)
def test_counter_of_two_cpus_goes_on_whatever_one_of_them_does(
    readings: list[tuple[float, float]], expected: list[float], tmp_path: Path
) -> None:
    host = _tree(tmp_path, (0, 0, 0, 0))
    inner = _Scripted(context(host))
    inner.series = (perf.MIGRATIONS(0), perf.MIGRATIONS(1))
    folded = folder(host, Granularity.NUMA)(inner)
    for reading, value in zip(readings, expected, strict=True):
        inner.values = list(reading)
        assert list(folded.read()) == [pytest.approx(value, nan_ok=True)]


def test_gauge_of_two_cpus_is_the_mean_of_those_that_have_one(tmp_path: Path) -> None:
    host = _tree(tmp_path, (0, 0, 0, 0))
    inner = _Scripted(context(host))
    inner.series = tuple(perf.PERF_RUNNING_RATIO(number, "cycles") for number in range(4))
    inner.values = [0.5, 1.0, nan, nan]
    values = list(folder(host, Granularity.NUMA)(inner).read())
    assert values[0] == 0.75
    assert isnan(values[1])


@pytest.mark.parametrize(("last", "places"), [(63, 64), (64, 1)])
def test_hosts_of_more_than_64_cpus_are_folded_by_default(last: int, places: int, tmp_path: Path) -> None:
    header = "".join(f" CPU{number}" for number in range(last + 1))
    files = {
        "/sys/devices/system/cpu/present": f"0-{last}\n",
        "/sys/devices/system/node/node0/cpulist": f"0-{last}\n",
        "/proc/softirqs": f"{header}\nTIMER: {'1 ' * (last + 1)}\n",
    }
    values = latest(_opened("softirqs", written(tmp_path, files), Granularity.AUTO))
    assert len(values) == places
    assert sum(values.values()) == last + 1


def test_exporter_folds_by_its_flag_and_leaves_what_tells_of_each_cpu_alone(tmp_path: Path) -> None:
    host = _tree(tmp_path, (100, 300, 500, 900))
    kinds = {name: discover()[name] for name in ("stat", "softirqs", "cputopology")}
    built = Engine(Settings(profile=Profile.STANDARD, granularity=Granularity.NUMA), kinds, host=host)
    built.sampler.settle()
    text = built.exposition(Format.TEXT).decode()
    assert 'hostpulse_cpu_seconds_total{cpu="node1",mode="user"} 7\n' in text
    assert text.count("hostpulse_cpu_topology_info{cpu=") == 4


def test_signals_say_of_folded_cpus_what_they_say_of_each(tmp_path: Path) -> None:
    said = []
    for granularity in (Granularity.CORE, Granularity.NUMA):
        rows = []
        host = _tree(tmp_path, (0, 0, 0, 0))
        collectors = [_opened(name, host, granularity) for name in ("stat", "softirqs")]
        for step in range(3):
            _tree(tmp_path, (10 * step, 2 * step, 3 * step, 5 * step))
            rows.append([float(value) for collector in collectors for value in collector.read()])
        columns = tuple(series for collector in collectors for series in collector.series)
        channels = evaluate(Frame("h", np.array([0.0, 1.0, 2.0]), np.array(rows), columns))
        said.append({channel.series.name: channels.values[-1, at] for at, channel in enumerate(channels.channels)})
    each, folded = said
    assert each["cpu_user_ratio"] == folded["cpu_user_ratio"] == pytest.approx(0.05)
    assert each["cpu_softirq_timer_per_second"] == folded["cpu_softirq_timer_per_second"] == pytest.approx(20.0)
