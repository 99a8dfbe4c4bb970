"""The exporter source: what it makes of restarts, schema changes, several tiers, and of answers that are no good."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from detector.source import Host, SourceError
from detector.sources.exporter import ExporterSettings, ExporterSource
from tests.detector.shell.scripted import ScriptedExporter, Tier
from tests.detector.shell.stepped import SteppedClock


@pytest.fixture
def exporter() -> Iterator[ScriptedExporter]:
    with ScriptedExporter() as server:
        server.tiers = [
            Tier("fast", 0.1, ("hostpulse_a", 'hostpulse_b{cpu="0"}'), ticks(0.1, 1, 30, 2)),
            Tier("medium", 1.0, ("hostpulse_c",), ticks(1.0, 1, 3, 1)),
        ]
        server.now_s = 3.02
        yield server


def ticks(interval_s: float, first: int, last: int, width: int) -> list[tuple[float, ...]]:
    """Rows at multiples of the interval whose values are the tick's number."""
    return [(number * interval_s, *[float(number)] * width) for number in range(first, last + 1)]


def source_of(exporter: ScriptedExporter, **settings: object) -> tuple[ExporterSource, Host]:
    parsed = ExporterSettings.model_validate({"targets": [exporter.url], **settings})
    source = ExporterSource(parsed, 600.0, SteppedClock())
    (host,) = source.hosts()
    return source, host


def test_host_is_called_by_its_address_unless_named(exporter: ScriptedExporter) -> None:
    assert source_of(exporter)[1] == Host(exporter.address, "hostpulse")
    assert source_of(exporter, targets=[f"web01:17720={exporter.url}"], job="edge")[1] == Host("web01:17720", "edge")


def test_host_is_compared_with_the_group_that_its_target_names(exporter: ScriptedExporter) -> None:
    for target, instance in ((f"web01@job-7={exporter.url}", "web01"), (f"@job-7={exporter.url}", exporter.address)):
        host = source_of(exporter, targets=[target])[1]
        assert (host, host.peer) == (Host(instance, "hostpulse"), "job-7")


def test_many_targets_are_told_in_short(exporter: ScriptedExporter) -> None:
    source, _ = source_of(exporter)
    assert source.address == exporter.url
    parsed = ExporterSettings(targets=tuple(f"http://10.0.0.{number}:17720" for number in range(9)))
    assert ExporterSource(parsed, 600.0, SteppedClock()).address.endswith("http://10.0.0.2:17720 and 6 more")


def test_tiers_lie_on_one_time_axis(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)
    assert source.newest_s(host) == pytest.approx(3.0 + 0.09)
    assert (source.oldest_s(host), source.interval_s(host)) == (0.1, 0.1)
    frame = source.read(host, 0.0, 3.0)
    assert [str(series) for series in frame.columns] == ["hostpulse_a", 'hostpulse_b{cpu="0"}', "hostpulse_c"]
    assert len(frame.times_s) == 30
    medium = frame.values[:, 2]
    assert medium[~np.isnan(medium)].tolist() == [1, 2, 3]
    assert frame.times_s[~np.isnan(medium)] == pytest.approx([1, 2, 3])


def test_only_what_is_new_is_asked_for(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)
    source.newest_s(host)
    exporter.tiers[0].rows += ticks(0.1, 31, 40, 2)
    source.newest_s(host)
    first, second = exporter.asked
    assert float(first["since"]) == 0
    assert float(second["since"]) == pytest.approx(3.0)
    assert set(second["schemas"].split(",")) == {tier.digest for tier in exporter.tiers}
    assert source.read(host, 0.0, 9.0).values[-1, 0] == 40
    assert {headers["Accept-Encoding"] for headers in exporter.headers} == {"identity"}


def test_restarted_exporter_starts_over(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)
    source.newest_s(host)
    exporter.boot = "second"
    exporter.tiers = [Tier("fast", 0.1, ("hostpulse_a",), [(100.0, 1.0), (100.1, 2.0)])]
    assert source.newest_s(host) == pytest.approx(100.1 + 0.09)
    frame = source.read(host, 0.0, 200.0)
    assert frame.times_s.tolist() == [100.0, 100.1]
    assert len(frame.columns) == 1


def test_device_that_comes_gives_a_column_that_was_missing_before(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)
    source.newest_s(host)
    wide = ('hostpulse_b{cpu="0"}', 'hostpulse_b{cpu="1"}')
    exporter.tiers.append(Tier("fast", 0.1, wide, ticks(0.1, 31, 35, 2)))
    source.newest_s(host)
    frame = source.read(host, 0.0, 9.0)
    names = [str(series) for series in frame.columns]
    hot = frame.values[:, names.index('hostpulse_b{cpu="1"}')]
    assert np.isnan(hot[:30]).all()
    assert hot[30:].tolist() == [31, 32, 33, 34, 35]
    assert frame.values[:, names.index('hostpulse_b{cpu="0"}')].tolist() == [*range(1, 36)]


def test_host_that_is_read_more_often_at_times_is_judged_as_if_it_never_were(exporter: ScriptedExporter) -> None:
    fast, medium = exporter.tiers
    fast.interval_s, fast.finest_s, late_s = 0.6, 0.1, 0.02
    fast.rows = [(tick / 10, tick, tick) for tick in (6, 12, 13, 14, 15)]
    medium.rows = ticks(1.0, 1, 1, 1)
    source, host = source_of(exporter)
    assert source.newest_s(host) == pytest.approx(1.2 + 0.54), "the next that counts is an interval after the last"
    assert source.interval_s(host) == 0.6
    fast.rows += [(tick / 10 + late_s, tick, tick) for tick in range(16, 25)]
    medium.rows += ticks(1.0, 2, 2, 1)
    assert source.newest_s(host) == pytest.approx(2.42 + 0.54)
    fast.rows += [(3.0, 30, 30), (3.6, 36, 36)]
    medium.rows += [(3.0, 3.0), (4.2, 4.2)]
    assert source.newest_s(host) == pytest.approx(4.2), "what lies before it is known, the next that counts comes later"
    frame = source.read(host, 0.0, 9.0)
    counted = frame.values[~np.isnan(frame.values[:, 0]), 0]
    assert counted.tolist() == [6, 12, 18, 24, 30, 36]
    assert frame.times_s == pytest.approx([0.6, 1.0, 1.2, 1.82, 2.0, 2.42, 3.0, 3.6, 4.2])


def test_time_is_the_exporters_own(exporter: ScriptedExporter) -> None:
    exporter.now_s = 5_000.0
    source, host = source_of(exporter)
    source.newest_s(host)
    assert source.now_s(host) == pytest.approx(5_000.0)


def test_exporter_without_samples_yet_is_no_error(exporter: ScriptedExporter) -> None:
    exporter.tiers = []
    source, host = source_of(exporter)
    assert np.isnan([source.newest_s(host), source.oldest_s(host), source.interval_s(host)]).all()


@pytest.mark.parametrize(
    ("status", "keep", "said"),
    [
        (500, slice(0, None), "status 500"),
        (404, slice(0, 0), "status 404"),
        (200, slice(0, -8), "truncated"),
        (200, slice(0, 20), "truncated"),
        (200, slice(0, 0), "0 bytes"),
        (200, slice(1, None), "is this a hostpulse exporter"),
    ],
)
def test_bad_answer_is_an_error_that_names_the_target(
    exporter: ScriptedExporter, status: int, keep: slice, said: str
) -> None:
    source, host = source_of(exporter)
    source.newest_s(host)
    exporter.spoil = lambda body: (status, body[keep])
    with pytest.raises(SourceError, match=said) as raised:
        source.newest_s(host)
    assert exporter.address in str(raised.value)
    exporter.spoil = lambda body: (200, body)
    exporter.tiers[0].rows += ticks(0.1, 31, 40, 2)
    source.newest_s(host)
    assert len(source.read(host, 0.0, 9.0).times_s) == 40


def test_answer_that_is_quoted_stays_one_line_of_the_log(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)
    exporter.spoil = lambda _: (500, b"<html>\x1b[2J\r\n07:00:00 ERROR   made up\n")
    with pytest.raises(SourceError, match=r": status 500: <html> \[2J 07:00:00 ERROR made up$"):
        source.newest_s(host)


def test_body_that_ends_early_is_an_error(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter)

    def cut_off(body: bytes) -> tuple[int, bytes]:
        class Short(bytes):
            def __len__(self) -> int:
                return super().__len__() + 100

        return 200, Short(body)

    exporter.spoil = cut_off
    source_fast, host = source_of(exporter, timeout="300ms")
    with pytest.raises(SourceError, match=exporter.address):
        source_fast.newest_s(host)
    source.close()


def test_server_that_trickles_is_given_up_in_time(exporter: ScriptedExporter) -> None:
    exporter.drip_s = 0.1
    source, host = source_of(exporter, timeout="300ms")
    begun_s = time.monotonic()
    with pytest.raises(SourceError, match=r"within 0\.3 s"):
        source.newest_s(host)
    assert time.monotonic() - begun_s < 30, "all of it takes longer"


@pytest.mark.parametrize(
    "trickle",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Header: " + b"a" * 1000, id="header"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 40, id="continue"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 1000, id="chunk"),
    ],
)
def test_server_that_trickles_before_the_body_is_given_up_in_time(exporter: ScriptedExporter, trickle: bytes) -> None:
    gone = threading.Event()

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            for byte in trickle:
                connection.sendall(bytes([byte]))
                if gone.wait(0.05):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        source, host = source_of(exporter, targets=[f"http://127.0.0.1:{listening.getsockname()[1]}"], timeout="300ms")
        begun_s = time.monotonic()
        with pytest.raises(SourceError, match=r"no complete answer within 0\.3 s"):
            source.newest_s(host)
        took_s = time.monotonic() - begun_s
        gone.set()
        thread.join(5)
    assert took_s < 30, "all of it takes longer"


def test_nobody_listening_is_an_error_in_plain_words(exporter: ScriptedExporter) -> None:
    source, host = source_of(exporter, targets=["http://127.0.0.1:1"])
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1/api/v1/samples: .*Connection refused"):
        source.newest_s(host)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([], "at least one"),
        (["http://a:1", "http://a:1/"], "a:1 stands twice"),
        (["a:1"], "must be a URL"),
        (["http://a:1/?x=1"], "must be a URL"),
        (["http://me:s3 cret@a:1"], "Value error, must be a URL .*, without blanks"),
    ],
)
def test_bad_target_is_refused(targets: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ExporterSettings.model_validate({"targets": targets})
