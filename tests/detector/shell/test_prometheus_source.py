"""The prometheus source on a real Prometheus: raw samples at the times they were taken, gaps as gaps, clear errors."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from catalog.families import cpu, memory, storage
from catalog.families.exporter import BUILD_INFO, SAMPLE_TIMESTAMP_SECONDS
from catalog.family import Family, Tier
from catalog.series import Series
from detector.clock import SystemClock
from detector.fetch import Fetcher
from detector.frame import Frame
from detector.query import QueryApi
from detector.source import Host, SourceError
from detector.sources.prometheus import PrometheusSettings, PrometheusSource
from tests.detector.shell.scripted import Answer, Scripted
from tests.servers import Prometheus, scrape_job, start_prometheus, start_victoria_metrics, wait_until

FAMILY = {Tier.FAST: cpu.SECONDS, Tier.MEDIUM: cpu.INTERRUPTS, Tier.SLOW: storage.FILESYSTEM_AVAIL_BYTES}
FAST = FAMILY[Tier.FAST]
INTERVALS_S = {Tier.FAST: 0.1, Tier.MEDIUM: 1.0, Tier.SLOW: 3.0}
RATE = 7.0
ODD = 'a"b\\c'


class Target(Scripted):
    """An exporter whose values tell when they were sampled: RATE times the sample's time. Its clock can be off."""

    def __init__(self, skew_s: float = 0.0, extra: str = "") -> None:
        self.skew_s = skew_s
        self.extra = extra
        self.broken = False
        super().__init__(self._metrics)

    def _metrics(self, path: str, parameters: dict[str, str]) -> Answer:
        if self.broken:
            return 500, b"broken\n"
        return 200, self.exposition(time.time() - self.skew_s).encode()

    def exposition(self, now_s: float) -> str:
        """What is scraped at a time of its own clock."""
        lines = [f"{BUILD_INFO('1', 'r', 'p')} 1"]
        for tier, family in FAMILY.items():
            sampled_s = math.floor(now_s / INTERVALS_S[tier]) * INTERVALS_S[tier]
            lines.append(f"{SAMPLE_TIMESTAMP_SECONDS(tier)} {sampled_s!r}")
            lines.append(f"{series_of(family)} {RATE * sampled_s!r}")
        return "\n".join(lines) + "\n" + self.extra


def series_of(family: Family) -> Series:
    """The one series of a family that the target has; label values need quoting."""
    return family(*[ODD] * len(family.labels))


TARGETS: dict[str, dict[str, Any]] = {
    "plain": {},
    "skewed": {"skew_s": 500.0},
    "leaving": {},
    "gap": {},
    "odd": {"extra": f"{memory.FREE_BYTES()} +Inf\n{cpu.SECONDS('1', 'user')} NaN\n"},
    "mixed": {"extra": 'hostpulse_anomaly_score{detector="fused"} 1\nhostpulse_from_the_future 1\nother_metric 1\n'},
}


@pytest.fixture(scope="module")
def targets() -> Iterator[dict[str, Target]]:
    """One target a job."""
    with contextlib.ExitStack() as stack:
        yield {job: stack.enter_context(Target(**about)) for job, about in TARGETS.items()}


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Target]]:
    """The URL of a VictoriaMetrics, and the target that it scrapes."""
    folder = tmp_path_factory.mktemp("victoria")
    config = folder / "scrape.yml"
    with Target() as target:
        job = scrape_job("vm", target.address, interval="200ms")
        config.write_text(json.dumps({"scrape_configs": [job]}))
        with start_victoria_metrics(folder, f"-promscrape.config={config}") as server:
            yield server.url, target


@pytest.fixture(scope="module")
def prometheus(
    tmp_path_factory: pytest.TempPathFactory,
    targets: dict[str, Target],
    victoria: tuple[str, Target],  # scrapes meanwhile
) -> Iterator[Prometheus]:
    """Prometheus that has scraped all of them for more than six seconds: two samples of the slow tier."""
    jobs = [scrape_job(job, target.address, interval="200ms") for job, target in targets.items()]
    with start_prometheus(tmp_path_factory.mktemp("prometheus"), jobs) as server:
        server.await_result("count_over_time(up[1m]) >= 32", accept=lambda result: len(result) == len(targets))
        yield server


def source_of(url: str, job: str = "") -> PrometheusSource:
    return PrometheusSource(PrometheusSettings.model_validate({"url": url, "job": job}), 60.0, SystemClock())


def column(frame: Frame, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of the samples of one series."""
    values = frame.values[:, frame.columns.index(series_of(family))]
    known = ~np.isnan(values)
    return frame.times_s[known], values[known]


def read_all(source: PrometheusSource, host: Host) -> Frame:
    newest_s = source.newest_s(host)
    return source.read(host, source.oldest_s(host) - 1, newest_s)


def test_values_lie_where_they_were_sampled_and_repeats_are_gone(
    prometheus: Prometheus, targets: dict[str, Target]
) -> None:
    source = source_of(prometheus.url, "plain")
    (host,) = source.hosts()
    frame = read_all(source, host)
    assert host == Host(targets["plain"].address, "plain")
    assert source.interval_s(host) == pytest.approx(0.2, abs=0.01)
    shift_s = set()
    for family in FAMILY.values():
        times_s, values = column(frame, family)
        shift_s |= set(np.round(times_s - values / RATE, 3))
        assert len(times_s) >= 2
        assert np.diff(times_s).min() > 0.9 * INTERVALS_S[family.tier]
    assert len(shift_s) == 1
    source.close()


def test_label_of_the_targets_names_the_group_of_a_host(prometheus: Prometheus) -> None:
    given = PrometheusSettings.model_validate({"url": prometheus.url, "peer_label": "job"})
    source = PrometheusSource(given, 60.0, SystemClock())
    assert {(host.job, host.peer) for host in source.hosts()} == {(job, job) for job in TARGETS}
    source.close()


def test_next_read_asks_only_for_what_is_new(prometheus: Prometheus) -> None:
    source = source_of(prometheus.url, "plain")
    (host,) = source.hosts()
    before_s = source.newest_s(host)
    first = source.read(host, before_s - 2, before_s)
    wait_until(lambda: source.hosts() and source.newest_s(host) > before_s + 1, 60, "newer scrapes")
    after_s = source.newest_s(host)
    second = source.read(host, before_s - 2, after_s)
    rows = np.isin(second.times_s, first.times_s)
    assert rows.sum() == len(first.times_s)
    order = [second.columns.index(series) for series in first.columns]
    np.testing.assert_array_equal(second.values[rows][:, order], first.values)
    assert second.times_s[-1] > before_s
    source.close()


def test_clock_of_the_host_may_differ(prometheus: Prometheus, caplog: pytest.LogCaptureFixture) -> None:
    source = source_of(prometheus.url, "skewed")
    (host,) = source.hosts()
    frame = read_all(source, host)
    times_s, values = column(frame, FAST)
    assert abs(times_s[-1] - source.newest_s(host)) < 1
    assert times_s - values / RATE == pytest.approx(500.0, abs=0.3)
    assert "500" in caplog.text
    source.close()


def test_job_chooses_the_hosts(prometheus: Prometheus, targets: dict[str, Target]) -> None:
    assert source_of(prometheus.url, "plain").hosts() == [Host(targets["plain"].address, "plain")]
    assert source_of(prometheus.url, "nobody").hosts() == []
    assert Host(targets["plain"].address, "plain") in source_of(prometheus.url).hosts()


def test_host_that_is_down_leaves(prometheus: Prometheus, targets: dict[str, Target]) -> None:
    source = source_of(prometheus.url, "leaving")
    (host,) = source.hosts()
    target = targets["leaving"]
    target.broken = True
    wait_until(lambda: source.hosts() == [], 60, "the host is gone")
    with pytest.raises(SourceError, match="no recent samples"):
        source.newest_s(host)
    target.broken = False
    wait_until(lambda: source.hosts() == [host], 60, "the host is back")


def test_missed_scrapes_are_a_gap(prometheus: Prometheus, targets: dict[str, Target]) -> None:
    target = targets["gap"]
    target.broken = True
    prometheus.await_result('up{job="gap"} == 0')
    prometheus.await_result('count_over_time((up{job="gap"} == 0)[1m:200ms]) >= 7')
    target.broken = False
    prometheus.await_result('sum_over_time(up{job="gap"}[2s]) >= 9')
    source = source_of(prometheus.url, "gap")
    (host,) = source.hosts()
    frame = read_all(source, host)
    times_s, _ = column(frame, FAST)
    assert np.diff(times_s).max() > 1.4
    assert source.interval_s(host) == pytest.approx(0.2, abs=0.02)


def test_values_that_are_no_numbers_become_gaps(prometheus: Prometheus) -> None:
    source = source_of(prometheus.url, "odd")
    (host,) = source.hosts()
    frame = read_all(source, host)
    for series in (memory.FREE_BYTES(), cpu.SECONDS("1", "user")):
        assert np.isnan(frame.values[:, frame.columns.index(series)]).all()


def test_metrics_that_are_no_measurements_are_left_out(prometheus: Prometheus) -> None:
    source = source_of(prometheus.url, "mixed")
    (host,) = source.hosts()
    names = {series.name for series in read_all(source, host).columns}
    assert names == {SAMPLE_TIMESTAMP_SECONDS.name, *(family.name for family in FAMILY.values())}


def test_present_is_that_of_the_server(prometheus: Prometheus) -> None:
    source = source_of(prometheus.url, "plain")
    (host,) = source.hosts()
    before_s, now_s, after_s = time.time(), source.now_s(host), time.time()
    assert before_s - 0.5 < now_s < after_s + 0.5


def test_victoria_metrics_is_read_alike(victoria: tuple[str, Target]) -> None:
    url, target = victoria
    source = source_of(url, "vm")
    wait_until(lambda: source.hosts() == [Host(target.address, "vm")], 60, "the host is there")
    (host,) = source.hosts()
    wait_until(lambda: source.hosts() and source.newest_s(host) > source.oldest_s(host) + 3, 60, "3 s of it")
    times_s, values = column(read_all(source, host), FAST)
    source.close()
    assert len(times_s) >= 10
    assert len(set(np.round(times_s - values / RATE, 2))) == 1


def test_rare_scrapes_are_not_read_twice() -> None:
    scrapes_s = [1_800_000_000.0 + 60 * number for number in range(40)]

    def answer(path: str, parameters: dict[str, str]) -> Answer:
        query = parameters["query"]
        labels: dict[str, str] = {"instance": "h:1", "job": "j"}
        if query.startswith("label_replace("):
            result: list[Any] = [{"metric": labels, "value": [scrapes_s[-1], str(scrapes_s[-1])]}]
        else:
            end_s = float(parameters.get("time", scrapes_s[-1]))
            start_s = end_s - float(query.rpartition("[")[2].rstrip("s]"))
            values = [[time_s, "1"] for time_s in scrapes_s if start_s < time_s <= end_s]
            result = [{"metric": {"__name__": FAST.name, **labels}, "values": values}]
        return 200, json.dumps({"status": "success", "data": {"result": result}}).encode()

    with Scripted(answer) as server:
        source = PrometheusSource(PrometheusSettings(url=server.url), 3600.0, SystemClock())
        (host,) = source.hosts()
        assert source.newest_s(host) == pytest.approx(scrapes_s[-1] + 54)
        before = len(server.asked)
        frames = [source.read(host, end_s - 300, end_s) for end_s in scrapes_s[10:30]]
        spans_s = [float(asked["query"].rpartition("[")[2].rstrip("s]")) for asked in server.asked[before:]]
        source.close()
    assert [len(frame.times_s) for frame in frames] == [5] * 20
    assert max(spans_s[1:]) <= 180


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (422, {"status": "error", "errorType": "execution", "error": "too many samples"}, "too many samples"),
        (200, {"status": "error", "error": "half way"}, "half way"),
        (200, {"status": "success", "warnings": ["store-2 is down"], "data": {"result": []}}, "store-2 is down"),
        (200, {"status": "success"}, "not an answer of the query API"),
        (502, "<html>Bad gateway</html>", "status 502"),
        (200, [1], "not an answer of the query API"),
        (200, {"status": "success", "data": {"result": [3]}}, "not an answer of the query API"),
        (200, {"status": "success", "data": {"result": [{"metric": [], "value": [1, "2"]}]}}, "status 200"),
        (
            200,
            {"status": "success", "data": {"result": [{"metric": {}, "value": 5}]}},
            "not an answer of the query API",
        ),
        (200, {"status": "success", "data": {"result": "x"}}, "not an answer of the query API"),
    ],
)
def test_bad_answer_is_an_error_that_says_what_was_asked(status: int, body: object, said: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    with Scripted(lambda path, parameters: (status, text.encode())) as server:
        source = source_of(server.url, "j")
        with pytest.raises(SourceError, match=said) as raised:
            source.hosts()
        assert server.address in str(raised.value)
        assert f'timestamp({BUILD_INFO.name}{{job="j"}})' in str(raised.value)


def test_password_in_the_url_is_not_told_to_anybody() -> None:
    source = PrometheusSource(
        PrometheusSettings.model_validate({"url": "http://me:s3cret@127.0.0.1:1"}), 60.0, SystemClock()
    )
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1") as raised:
        source.hosts()
    assert "s3cret" not in str(raised.value)


def test_long_question_is_told_by_its_beginning() -> None:
    api = QueryApi("http://127.0.0.1:1", Fetcher(1.0, 1000), 1.0, SystemClock())
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1.* \(asked x{200}…\)$"):
        api.instant("x" * 1000)
