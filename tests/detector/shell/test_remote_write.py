"""Remote write: what reaches a real Prometheus and VictoriaMetrics, and what is done when a store refuses or fails."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import cramjam
import pytest

from catalog import outputs
from catalog.duration import parse_duration
from detector.clock import SystemClock
from detector.fetch import Fetcher
from detector.settings import walk
from detector.sink import Context
from detector.sinks.remote_write import RemoteWriteSettings, RemoteWriteSink
from detector.source import Host
from detector.telemetry import Telemetry
from detector.wire import STALE, Sample, encode_labels, encode_value, write_request
from detector.writing import Writer
from tests.detector.shell.verdicts import CAUSES, HOST, alarm, judged
from tests.servers import Prometheus, Server, start_prometheus, start_victoria_metrics, wait_until

OTHER = Host("10.0.0.2:17720", "hostpulse")
SCORE = outputs.SCORE.name
FUSED = f'{SCORE}{{detector="fused"}}'


class Bench:
    """A sink that writes to ``url``, and what it counts."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.telemetry = Telemetry()
        chosen = RemoteWriteSettings.model_validate({"url": url, **settings})
        made = RemoteWriteSink.build(
            chosen, Context(SystemClock(), self.telemetry, {}, address="http://detector:17721")
        )
        assert made is not None
        self.sink = made

    def left(self, outcome: str) -> float:
        name = outputs.WRITTEN_SAMPLES.name
        return self.telemetry.registry.get_sample_value(name, {"outcome": outcome}) or 0.0

    def await_empty(self) -> None:
        pending = lambda: self.telemetry.registry.get_sample_value(outputs.WRITE_PENDING.name) == 0.0  # noqa: E731
        wait_until(pending, 60, "all is written")


@pytest.fixture(params=["prometheus", "prometheus that takes late samples", "victoria-metrics"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if request.param == "victoria-metrics":
        with start_victoria_metrics(tmp_path) as victoria:
            yield victoria
        return
    with start_prometheus(tmp_path) as prometheus:
        if request.param != "prometheus":
            prometheus.config["storage"] = {"tsdb": {"out_of_order_time_window": "30m"}}
            prometheus.reload()
        yield prometheus


def samples(server: Server, selector: str) -> dict[float, float]:
    """All samples of the one series that matches, by time; markers are no samples."""
    if not isinstance(server, Prometheus):
        server.get("/internal/force_flush")
    answer = server.get("/api/v1/query", query=f"{selector}[1h]", nocache="1").json()["data"]["result"]
    assert len(answer) <= 1, answer
    found = {time_s: float(value) for entry in answer for time_s, value in entry["values"]}
    return {time_s: value for time_s, value in found.items() if not math.isnan(value)}


def test_scores_lie_at_the_ends_of_their_windows_and_end_with_the_host(store: Server) -> None:
    now_s = float(int(time.time()))
    bench = Bench(f"{store.url}/api/v1/write")
    ends_s = [now_s - back for back in (40.5, 39.5, 38.5)]
    for end_s, score in zip(ends_s, (0.25, 0.5, 2.0), strict=True):
        bench.sink.publish(judged(end_s=end_s, score=score))
    bench.sink.publish(judged(end_s=ends_s[1], score=9.0))  # a window is written once
    bench.sink.publish(judged(end_s=now_s + 3600.0))  # and none of the future
    bench.sink.publish(judged(OTHER, ends_s[0], score=0.125))
    bench.await_empty()
    mine = f'{SCORE}{{detector="fused",instance="{HOST.instance}",job="{HOST.job}"}}'
    wait_until(lambda: len(samples(store, mine)) == 3, 60, "the scores are there")
    assert samples(store, mine) == dict(zip(ends_s, (0.25, 0.5, 2.0), strict=True))
    found_at = f'{outputs.ADDRESS_INFO.name}{{instance="{HOST.instance}",url="http://detector:17721"}}'
    assert len(samples(store, found_at)) == 3
    assert bench.left("refused") == 0.0
    bench.sink.leave(HOST)
    bench.await_empty()

    def present() -> list[str]:
        if not isinstance(store, Prometheus):
            store.get("/internal/force_flush")
        answer = store.get("/api/v1/query", query=FUSED, time=str(now_s - 30.0), nocache="1").json()
        return [entry["metric"]["instance"] for entry in answer["data"]["result"]]

    wait_until(lambda: present() == [OTHER.instance], 60, lambda: f"only {OTHER.instance}, not {present()}")
    bench.sink.publish(judged(end_s=ends_s[2] + 1.0, score=3.0))  # the host is back
    bench.sink.close()
    wait_until(lambda: len(samples(store, mine)) == 4, 60, "the next score is there")
    assert present() == []


def test_restarted_detector_does_no_harm_by_writing_again(store: Server) -> None:
    now_s = float(int(time.time()))
    url = f"{store.url}/api/v1/write"
    first, second = Bench(url), Bench(url)
    for end_s in (now_s - 12.0, now_s - 11.0):
        first.sink.publish(judged(end_s=end_s, score=0.5))
    first.await_empty()
    for end_s in (now_s - 12.0, now_s - 11.0, now_s - 10.0):
        second.sink.publish(judged(end_s=end_s, score=0.5))
    second.await_empty()
    mine = f'{SCORE}{{detector="fused",instance="{HOST.instance}"}}'
    wait_until(lambda: len(samples(store, mine)) == 3, 60, "all three are there")
    assert set(samples(store, mine).values()) == {0.5}
    assert second.left("written") > 0
    first.sink.close()
    second.sink.close()


def test_replicas_are_told_apart(tmp_path: Path) -> None:
    end_s = time.time() - 5.0
    with start_prometheus(tmp_path) as prometheus:
        for replica in ("a", "b"):
            bench = Bench(f"{prometheus.url}/api/v1/write", replica=replica)
            bench.sink.publish(judged(end_s=end_s))
            bench.await_empty()
        result = prometheus.query(f"{FUSED}[1m]")
    assert sorted(entry["metric"]["replica"] for entry in result) == ["a", "b"]


class Receiver:
    """A store whose answers the test makes from what it is sent; a context manager."""

    def __init__(self, answer: Callable[[list[tuple[bytes, int, bytes]]], tuple[int, str]]) -> None:
        self.taken: list[tuple[bytes, int, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.requests = 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805 - self is the receiver
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                sent = decoded(bytes(cramjam.snappy.decompress_raw(body)))
                self.requests += 1
                self.headers.append(dict(handler.headers))
                status, said = answer(sent)
                if status == 204:
                    self.taken += sent
                handler.send_response(status)
                handler.end_headers()
                handler.wfile.write(said.encode())

            def log_message(handler, format: str, *arguments: object) -> None:  # noqa: A002, N805
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/write"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def decoded(body: bytes) -> list[tuple[bytes, int, bytes]]:
    """Encoded labels, time and value of all samples of a request."""
    found = []
    for _, series in fields(body):
        parts = list(fields(series))
        labels = b"".join(b"\x0a" + bytes([len(part)]) + part for number, part in parts if number == 1)
        found += [(labels, number_at(part, 10)[0], part[1:9]) for number, part in parts if number == 2]
    return found


def fields(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(body):
        number = body[at] >> 3
        size, at = number_at(body, at + 1)
        yield number, body[at : at + size]
        at += size


def number_at(body: bytes, at: int) -> tuple[int, int]:
    """A variable-length number and where the next thing begins."""
    number = shift = 0
    while True:
        number |= (body[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if body[at - 1] < 0x80:
            return number, at


def writer_to(url: str, telemetry: Telemetry, most: int = 100_000, max_age_s: float = 3600.0) -> Writer:
    return Writer(url, Fetcher(5.0, 1 << 20), max_age_s, most, SystemClock(), telemetry)


def unit_of(size: int, back_s: float = 10.0) -> list[Sample]:
    time_ms = round((time.time() - back_s) * 1000)
    return [Sample(encode_labels("m", {"n": str(n)}), time_ms, encode_value(float(n))) for n in range(size)]


def left(telemetry: Telemetry) -> dict[str, float]:
    """How many samples left the queue, by outcome."""
    found = telemetry.registry.collect()
    name = outputs.WRITTEN_SAMPLES.name
    return {one.labels["outcome"]: one.value for family in found for one in family.samples if one.name == name}


def test_request_is_what_the_format_says() -> None:
    labels = encode_labels("m", {"b": "2", "a": "1", "empty": ""})
    assert labels == b"\n\r\n\x08__name__\x12\x01m\n\x06\n\x01a\x12\x011\n\x06\n\x01b\x12\x012"
    sent = [Sample(labels, 1_800_000_000_123, encode_value(1.5)), Sample(labels, 1_800_000_000_124, STALE)]
    body = bytes(cramjam.snappy.decompress_raw(write_request(sent)))
    assert decoded(body) == [(one.labels, one.time_ms, one.value) for one in sent]
    assert len(list(fields(body))) == 1, "samples of one series stand together"


def test_one_bad_sample_does_not_cost_the_others(caplog: pytest.LogCaptureFixture) -> None:
    telemetry, unit = Telemetry(), unit_of(64)
    bad = unit[37]
    with Receiver(lambda sent: (400, "bad") if bad.labels in [one[0] for one in sent] else (204, "")) as store:
        writer = writer_to(store.url, telemetry)
        writer.put(unit)
        wait_until(lambda: sum(left(telemetry).values()) == 64, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
        assert sorted(one[0] for one in store.taken) == sorted(one.labels for one in unit if one is not bad)
        assert store.requests <= 15
    assert left(telemetry) == {"written": 63.0, "refused": 1.0}
    assert "refuses samples: bad" in caplog.text


@pytest.mark.parametrize("status", [400, 500])
def test_window_that_is_too_late_is_refused_whole(status: int) -> None:
    telemetry, late, good = Telemetry(), unit_of(30, 100.0), unit_of(30, 10.0)
    refusal = (status, "out of order sample")
    with Receiver(lambda sent: refusal if late[0].time_ms in [one[1] for one in sent] else (204, "")) as store:
        writer = writer_to(store.url, telemetry)
        writer.put(late)
        writer.put(good)
        wait_until(lambda: sum(left(telemetry).values()) == 60, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
        assert store.requests <= 4
    assert left(telemetry) == {"written": 30.0, "refused": 30.0}


@pytest.mark.parametrize("status", [500, 503, 429, 307])
def test_store_that_fails_is_asked_again(status: int, caplog: pytest.LogCaptureFixture) -> None:
    telemetry, unit = Telemetry(), unit_of(5)
    asked: list[int] = []

    def answer(sent: list[tuple[bytes, int, bytes]]) -> tuple[int, str]:
        asked.append(len(sent))
        return (204, "") if len(asked) > 2 else (status, "later")

    with Receiver(answer) as store, caplog.at_level("INFO"):
        writer = writer_to(store.url, telemetry)
        writer.put(unit)
        wait_until(lambda: left(telemetry) == {"written": 5.0}, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
    assert asked == [5, 5, 5]
    assert telemetry.registry.get_sample_value(outputs.WRITE_FAILURES.name) == 2
    assert caplog.text.count("scores are not written") == 1
    assert "scores are written again" in caplog.text


def test_what_is_too_old_or_too_much_is_let_go() -> None:
    telemetry = Telemetry()
    with Receiver(lambda sent: (204, "")) as store:
        writer = writer_to(store.url, telemetry, max_age_s=60.0)
        writer.put(unit_of(7, back_s=61.0))
        wait_until(lambda: left(telemetry) == {"too_old": 7.0}, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
    telemetry = Telemetry()
    writer = writer_to("http://127.0.0.1:1/write", telemetry, most=50)
    for _ in range(10):
        writer.put(unit_of(10))
    assert left(telemetry)["overflow"] >= 40
    writer.close(0.2)


def test_store_that_hangs_does_not_hold_the_end_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    let_go = threading.Event()
    telemetry = Telemetry()

    def hang(sent: list[tuple[bytes, int, bytes]]) -> tuple[int, str]:
        let_go.wait(60)
        return 204, ""

    with Receiver(hang) as store:
        writer = writer_to(store.url, telemetry)
        writer.put(unit_of(3))
        begun_s = time.monotonic()
        writer.close(0.3)
        assert time.monotonic() - begun_s < 15
        assert "3 samples were not written" in caplog.text
        let_go.set()


def test_store_is_told_who_writes_and_no_log_is(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver(lambda sent: (401, "not s3cret-token")) as store:
        bench = Bench(store.url, access={"bearer_token": "s3cret-token", "tenant": "team-a"})
        bench.sink.publish(judged(end_s=time.time() - 5.0))
        bench.await_empty()
        bench.sink.close()
    sent = store.headers[0]
    assert (sent["Authorization"], sent["X-Scope-OrgID"]) == ("Bearer s3cret-token", "team-a")
    assert (sent["Content-Encoding"], sent["X-Prometheus-Remote-Write-Version"]) == ("snappy", "0.1.0")
    assert bench.left("written") == 0.0
    assert "status 401: not <secret>" in caplog.text


def test_series_that_a_verdict_lacks_is_ended() -> None:
    end_s = time.time() - 20.0
    with Receiver(lambda sent: (204, "")) as store:
        bench = Bench(store.url)
        bench.sink.publish(judged(end_s=end_s))
        bench.sink.publish(judged(end_s=end_s + 1.0, score=math.nan, detectors={}, shares={}))
        bench.sink.trouble(HOST, "refused")
        bench.sink.trouble(HOST, "refused")
        bench.await_empty()
        bench.sink.close()
        ended = [(labels, time_ms) for labels, time_ms, value in store.taken if value == STALE]
    scores = [one for one in ended if one[1] == round((end_s + 1.0) * 1000)]
    assert len(scores) == 4 + 5, "four scores and five shares"
    assert {time_ms for _, time_ms in ended} == {round((end_s + 1.0) * 1000), round((end_s + 1.0) * 1000) + 1}
    assert len({labels for labels, _ in ended}) == len(ended), "each series ends once"


def test_labels_of_causes_that_are_over_are_not_kept() -> None:
    end_s = time.time() - 60.0
    with Receiver(lambda sent: (204, "")) as store:
        bench = Bench(store.url)
        for number in range(40):
            cause = replace(CAUSES[0], channel=f"channel_{number:02}")
            bench.sink.publish(alarm(end_s=end_s + number, causes=(cause,)))
        bench.await_empty()
        text = str(bench.sink._labels)
        bench.sink.leave(HOST)
        bench.sink.close()
    assert [number for number in range(40) if f"channel_{number:02}" in text] == [39]
    assert bench.sink._labels == {}


def test_settings_are_in_the_table_and_checked() -> None:
    keys = {setting.key for setting in walk() if setting.path[0] == "remote_write" and "access" not in setting.path}
    assert keys == {f"remote_write.{key}" for key in ("url", "timeout", "max_age", "queue_samples", "replica")}
    assert RemoteWriteSettings().max_age_s == parse_duration("1h")
    with pytest.raises(ValueError, match="must be a URL"):
        RemoteWriteSettings.model_validate({"url": "ftp://x"})
