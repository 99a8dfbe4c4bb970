"""What others' stores hold: rare, mixed, irregular and late samples, pairs of databases; no test waits for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from catalog.exporters import NODE_EXPORTER
from catalog.families import cpu, memory
from detector.buffer import Buffer
from detector.clock import SystemClock
from detector.config import load
from detector.frame import Frame
from detector.judge import Judge
from detector.learning import due, fit
from detector.pipeline import features_at, judge_window
from detector.scrapes import Scrapes
from detector.source import Host
from detector.sources.prometheus import PrometheusSettings, PrometheusSource
from detector.state import HostState
from detector.tables import table
from detector.targets import Target
from detector.translation import Translation
from detector.verdict import Verdict
from detector.watch import judge_for
from tests.detector.shell.history import FULL_DISK, node_host, write
from tests.servers import Server, start_victoria_metrics

HORIZON_S = 3600.0
INTERVALS_S = {"fast": 0.1, "second": 1.0, "usual": 15.0, "rare": 60.0}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A VictoriaMetrics that tests write the past of their own jobs into."""
    with start_victoria_metrics(tmp_path_factory.mktemp("store")) as server:
        yield server


def now_s() -> float:
    """A moment ago: the store hides what is newer than a second, and knows no future."""
    return float(int(time.time()) - 10)


def source_of(store: Server, job: str, **settings: object) -> PrometheusSource:
    given = PrometheusSettings.model_validate({"url": store.url, "job": job, **settings})
    return PrometheusSource(given, HORIZON_S, SystemClock())


def sampled_s(frame: Frame) -> np.ndarray:
    """When the host's CPU time was sampled."""
    return frame.times_s[np.isfinite(frame.values[:, frame.columns.index(cpu.SECONDS(0, "idle"))])]


def target(job: str, instance: str = "h1:9100", **labels: str) -> dict[str, str]:
    return {"job": job, "instance": instance, **labels}


def test_hosts_of_one_fleet_may_be_scraped_every_tenth_of_a_second_to_every_minute(store: Server) -> None:
    end_s = now_s()
    for name, interval_s in INTERVALS_S.items():
        write(store, node_host(target("mixed", f"{name}:9100"), end_s - interval_s * np.arange(50)[::-1]))
    source = source_of(store, "mixed")
    settings = load(None, {}, {})
    found = {host.instance.removesuffix(":9100"): host for host in source.hosts()}
    assert found.keys() == INTERVALS_S.keys()
    widths_s = {}
    for name, host in found.items():
        newest_s = source.newest_s(host)
        interval_s = source.interval_s(host)
        judge = judge_for(settings, interval_s)
        frame = source.read(host, newest_s - judge.window_s, newest_s)
        widths_s[name] = (judge.window_s, judge.stride_s)
        assert interval_s == pytest.approx(INTERVALS_S[name], rel=0.01)
        assert len(sampled_s(frame)) >= 3, name
    assert widths_s == {"fast": (3, 1), "second": (3, 1), "usual": (45, 15), "rare": (180, 60)}
    source.close()


def test_irregular_scrapes_have_their_usual_interval_and_their_own_times(store: Server) -> None:
    end_s, generator = now_s(), np.random.default_rng(1)
    times_s = np.round(end_s - 15.0 * np.arange(60)[::-1] + generator.uniform(-4, 4, 60), 3)
    times_s = np.delete(times_s, [30, 31, 32])
    write(store, node_host(target("irregular"), times_s))
    source = source_of(store, "irregular")
    (host,) = source.hosts()
    newest_s = source.newest_s(host)
    assert source.interval_s(host) == pytest.approx(15, abs=2)
    frame = source.read(host, times_s[0] - 1, newest_s)
    np.testing.assert_allclose(sampled_s(frame), times_s[times_s <= newest_s])
    source.close()


def test_pair_of_databases_is_one_and_each_fills_the_other_ones_gaps(store: Server) -> None:
    end_s = now_s()
    first_s = end_s - 15.0 * np.arange(60)[::-1]
    write(store, node_host(target("pair", prometheus_replica="a"), np.delete(first_s, [40, 41])))
    write(store, node_host(target("pair", prometheus_replica="b"), first_s[10:] - 4.0))
    source = source_of(store, "pair", replica_labels=["prometheus_replica"])
    (host,) = source.hosts()
    newest_s = source.newest_s(host)
    assert host == Host("h1:9100", "pair")
    assert source.interval_s(host) == pytest.approx(15)
    frame = source.read(host, first_s[0] - 1, newest_s)
    expected_s = np.where(np.isin(np.arange(60), [40, 41]), first_s - 4.0, first_s)
    np.testing.assert_allclose(sampled_s(frame), expected_s)
    source.close()


def test_pair_of_databases_is_read_from_one_of_them_whichever_has_a_scrape_more(store: Server) -> None:
    end_s = now_s()
    first_s = end_s - 15.0 * np.arange(60)[::-1]
    more_s = np.concatenate([[first_s[0] - 15.0], first_s]) - 4.3
    for replica, times_s in (("a", first_s), ("b", more_s)):
        write(store, node_host(target("equal", prometheus_replica=replica), times_s))
    source = source_of(store, "equal")
    (host,) = source.hosts()
    found = set()
    for complete_s in np.arange(first_s[5], end_s, 5.0):
        source.newest_s(host)
        found |= set(sampled_s(source.read(host, complete_s - 45.0, complete_s)))
        assert source.interval_s(host) == pytest.approx(15)
    assert found <= set(first_s)
    assert len(found) >= 55
    source.close()


def test_scrape_that_is_not_due_yet_is_no_gap_to_fill() -> None:
    def merged_s(*times_s: list[float]) -> list[float]:
        entries = [
            {
                "metric": {"__name__": "node_memory_MemFree_bytes", "replica": replica},
                "values": [(time_s, "1") for time_s in each],
            }
            for replica, each in zip("ab", times_s, strict=True)
        ]
        return list(table(entries, Translation(NODE_EXPORTER), ["replica"], 15.0)[0])

    assert merged_s([0.0, 15.0], [10.7, 25.7]) == [0.0, 15.0], "the next one is due at 30"
    assert merged_s([0.0, 15.0], [10.7, 25.7, 40.7]) == [0.0, 15.0, 40.7]
    assert merged_s([0.0, 30.0], [10.7, 25.7]) == [0.0, 10.7, 30.0]
    assert merged_s([], [10.7, 25.7]) == [10.7, 25.7]


def test_gap_that_another_database_filled_for_a_while_does_not_change_the_interval() -> None:
    scrapes = Scrapes(Target(1, "node", "h:9100", "h"))
    scrapes.measure([{0.0, 15.0, 30.0}, {4.3, 19.3, 34.3}])
    columns = (memory.FREE_BYTES(),)
    for newest in range(3, 20):
        times_s = np.array([15.0 * (newest - 2), 15.0 * (newest - 1), 15.0 * newest + 4.3])
        scrapes.add_to(Buffer(60.0), (times_s, np.arange(3.0)[:, None], list(columns)), set())
        assert scrapes.interval_s == pytest.approx(15.0)


def test_samples_that_come_late_are_waited_for_and_read(store: Server) -> None:
    end_s = now_s()
    times_s = end_s - 5.0 * np.arange(40)[::-1]
    lines = node_host(target("late"), times_s)
    late = [line for line in lines if "MemAvailable" in line and int(line.split()[-1]) > 1000 * end_s - 12000]
    assert len(late) == 3
    write(store, [line for line in lines if line not in late])
    source = source_of(store, "late", latency_offset="20s")
    (host,) = source.hosts()
    assert source.newest_s(host) == pytest.approx(source.now_s(host) - 20, abs=0.5)
    before = source.read(host, end_s - 60, end_s)
    write(store, [*late, *node_host(target("late"), times_s[-1:] + 5.0)])
    assert source.hosts() == [host]
    after = source.read(host, end_s - 60, end_s + 5)
    free = [np.isfinite(one.values[:, one.columns.index(memory.AVAILABLE_BYTES())]).sum() for one in (before, after)]
    assert free[1] >= free[0] + 3
    source.close()


def test_newest_half_minute_of_a_victoria_metrics_as_it_is_shipped_is_read(tmp_path: Path) -> None:
    end_s = float(int(time.time()) - 2)
    times_s = end_s - 1.0 * np.arange(60)[::-1]
    with start_victoria_metrics(tmp_path, "-search.latencyOffset=30s") as shipped:
        write(shipped, node_host(target("newest"), times_s))
        source = source_of(shipped, "newest")
        (host,) = source.hosts()
        newest_s = source.newest_s(host)
        frame = source.read(host, end_s - 5.0, newest_s)
        source.close()
    assert end_s <= newest_s <= end_s + 1
    assert list(sampled_s(frame)) == [end_s - back for back in (4, 3, 2, 1, 0)]


def test_store_that_gets_no_samples_any_more_tells_no_times_that_only_the_clock_has_reached(store: Server) -> None:
    times_s = now_s() - 60.0 - 5.0 * np.arange(40)[::-1]
    write(store, node_host(target("stopped"), times_s))
    source = source_of(store, "stopped", latency_offset="20s")
    (host,) = source.hosts()
    assert times_s[-1] <= source.newest_s(host) <= times_s[-1] + 5
    source.close()


def test_fault_of_a_host_with_nothing_but_node_exporter_is_found_and_named(store: Server) -> None:
    end_s = now_s()
    times_s = end_s - 15.0 * np.arange(239)[::-1]
    write(store, node_host(target("sick"), times_s, FULL_DISK, end_s - 600))
    source = source_of(store, "sick")
    (host,) = source.hosts()
    frame = source.read(host, times_s[0] - 1, source.newest_s(host))
    judge = judge_for(load(None, {"baseline.duration": "40m"}, {}), source.interval_s(host))
    source.close()
    ends_s = judge.stride_s * np.arange(np.ceil(times_s[9] / judge.stride_s), times_s[-1] // judge.stride_s)
    active = [verdict for verdict in judged(frame, ends_s, judge, HostState.new(host.instance)) if verdict.active]
    assert active[0].end_s > end_s - 600
    assert {verdict.subsystem for verdict in active} == {"storage"}


def judged(frame: Frame, ends_s: np.ndarray, judge: Judge, state: HostState) -> Iterator[Verdict]:
    """The verdict on each window, with fits that take no time."""
    for row in range(len(ends_s)):
        window = features_at(frame, ends_s[row : row + 1], judge)
        state, verdict = judge_window(window, state, judge)
        yield verdict
        if due(state, verdict.end_s, judge):
            state = fit(state, judge)
