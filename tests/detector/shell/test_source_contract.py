"""What every registered source must do, on a running exporter; a new source adds one line to ``SETTINGS``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from catalog import FAMILIES
from catalog.family import Tier
from detector import source
from detector.clock import SystemClock
from detector.facts import CONSTANTS
from detector.frame import Floats, Frame
from detector.section import Section
from detector.source import Host, Source, SourceError
from tests.servers import Prometheus, Server, scrape_job, start_exporter, start_prometheus, wait_until

JOB = "hostpulse"
HORIZON_S = 60.0


@dataclass
class Stack:
    """What sources can read."""

    exporter: Server
    prometheus: Prometheus


SETTINGS: dict[str, Callable[[Stack], dict[str, object]]] = {
    "exporter": lambda stack: {"targets": [stack.exporter.url], "job": JOB},
    "prometheus": lambda stack: {"url": stack.prometheus.url, "job": JOB},
}
NOWHERE: dict[str, dict[str, object]] = {
    "exporter": {"targets": ["http://127.0.0.1:1"]},
    "prometheus": {"url": "http://127.0.0.1:1"},
}

every_source = pytest.mark.parametrize("kind", source.discover().values(), ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Exporter and Prometheus that have run for a while."""
    folder = tmp_path_factory.mktemp("sources")
    with start_exporter(folder) as exporter:
        jobs = [scrape_job(JOB, exporter.address, interval="200ms")]
        with start_prometheus(folder / "prometheus", jobs) as prometheus:
            prometheus.await_result("count_over_time(up[1m]) >= 20")
            yield Stack(exporter, prometheus)


def opened(kind: type[Source], given: dict[str, object]) -> Source:
    settings: Section = kind.settings.model_validate(given)
    return kind(settings, HORIZON_S, SystemClock())


@pytest.fixture
def read(stack: Stack, kind: type[Source]) -> Iterator[tuple[Source, Host]]:
    """The source and the one host that it has."""
    made = opened(kind, SETTINGS[kind.name](stack))
    (host,) = made.hosts()
    yield made, host
    made.close()


def test_every_source_is_held_to_the_contract() -> None:
    assert source.discover().keys() == SETTINGS.keys() == NOWHERE.keys()


@every_source
def test_host_is_known_by_instance_and_job(read: tuple[Source, Host], stack: Stack) -> None:
    assert read[1] == Host(stack.exporter.address, JOB)


@every_source
def test_address_is_told_without_password(kind: type[Source]) -> None:
    url = "http://me:s3cret@10.0.0.1:80"
    given: dict[str, object] = {
        key: [url] if isinstance(value, list) else url for key, value in NOWHERE[kind.name].items()
    }
    assert opened(kind, given).address == "http://10.0.0.1:80"


@every_source
def test_defaults_need_no_settings(kind: type[Source]) -> None:
    assert kind.settings() is not None
    assert kind.grace_s >= 0


@every_source
def test_frame_holds_the_time_asked_for_and_nothing_else(read: tuple[Source, Host]) -> None:
    made, host = read
    newest_s = made.newest_s(host)
    assert made.oldest_s(host) < newest_s - 3
    frame = made.read(host, newest_s - 2, newest_s - 1)
    assert frame.instance == host.instance
    assert (frame.times_s > newest_s - 2).all()
    assert (frame.times_s <= newest_s - 1).all()
    assert len(frame.times_s) >= 3
    assert (~np.isnan(frame.values)).any()


@every_source
def test_columns_are_series_of_the_catalog(read: tuple[Source, Host]) -> None:
    made, host = read
    newest_s = made.newest_s(host)
    columns = made.read(host, newest_s - 5, newest_s).columns
    for series in columns:
        family = FAMILIES[series.name]
        assert tuple(label for label, _ in series.labels) == family.labels
        assert family.tier is not Tier.STATIC
    assert len(set(columns)) == len(columns) > 50


@every_source
def test_value_of_a_slower_tier_is_not_repeated(read: tuple[Source, Host]) -> None:
    made, host = read
    newest_s = made.newest_s(host)
    frame = made.read(host, newest_s - 3, newest_s)
    medium = [column for column, series in enumerate(frame.columns) if FAMILIES[series.name].tier is Tier.MEDIUM]
    there = ~np.isnan(frame.values[:, medium]).all(axis=1)
    assert 2 <= there.sum() <= 4
    assert np.diff(frame.times_s[there]).min() > 0.8


@every_source
def test_what_is_complete_stays_as_it_is(read: tuple[Source, Host]) -> None:
    made, host = read
    complete_s = made.newest_s(host)
    before = made.read(host, complete_s - 1.5, complete_s)
    wait_until(lambda: made.hosts() and made.newest_s(host) > complete_s + 1, 60, "more samples")
    after = made.read(host, complete_s - 1.5, complete_s)
    for one, other in zip(fast_samples(before), fast_samples(after), strict=True):
        np.testing.assert_array_equal(one, other)


def fast_samples(frame: Frame) -> tuple[Floats, Floats]:
    """Times and values of the fastest series, in an order of their own."""
    fast = sorted(series for series in frame.columns if FAMILIES[series.name].tier is Tier.FAST)
    values = frame.values[:, [frame.columns.index(series) for series in fast]]
    there = ~np.isnan(values).all(axis=1)
    return frame.times_s[there], values[there]


@every_source
def test_newest_time_is_that_of_the_present(read: tuple[Source, Host]) -> None:
    made, host = read
    wait_until(lambda: made.hosts() and abs(made.newest_s(host) - made.now_s(host)) < 0.5, 60, "the newest is new")
    before_s, now_s, after_s = time.time(), made.now_s(host), time.time()
    assert before_s - 0.5 < now_s < after_s + 0.5
    assert 0.05 < made.interval_s(host) < 0.3


@every_source
def test_both_clocks_agree_on_counters(read: tuple[Source, Host]) -> None:
    """Rates of a counter that runs evenly, whichever way its samples come."""
    made, host = read
    newest_s = made.newest_s(host)
    frame = made.read(host, newest_s - 3, newest_s)
    total = 0.0
    for column, series in enumerate(frame.columns):
        if series.name == "hostpulse_cpu_seconds_total":
            known = ~np.isnan(frame.values[:, column])
            values, times_s = frame.values[known, column], frame.times_s[known]
            total += (values[-1] - values[0]) / (times_s[-1] - times_s[0])
    cores = len({series.label("cpu") for series in frame.columns if series.name == "hostpulse_cpu_seconds_total"})
    assert total == pytest.approx(cores, rel=0.1)


@every_source
def test_source_that_is_not_there_is_a_clear_error_in_time(kind: type[Source]) -> None:
    made = opened(kind, NOWHERE[kind.name])
    begun_s = time.monotonic()
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1"):
        [made.newest_s(host) for host in made.hosts()]
    assert time.monotonic() - begun_s < 30


@every_source
def test_host_is_described_by_its_constants(read: tuple[Source, Host]) -> None:
    made, host = read
    made.newest_s(host)
    names = {one.name for one in made.constants(host)}
    assert {"hostpulse_host_info", "hostpulse_cpu_info", "hostpulse_exporter_build_info"} <= names <= set(CONSTANTS)
    (system,) = (one for one in made.constants(host) if one.name == "hostpulse_host_info")
    assert system.label("kernel") == os.uname().release
