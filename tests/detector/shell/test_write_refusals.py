"""Remote write to stores that refuse all or repeat secrets, and of hosts whose clocks are wrong."""

from __future__ import annotations

import html
import itertools
import json
import threading
import time
from functools import partial
from urllib.parse import quote

import pytest

from detector.telemetry import Telemetry
from detector.wire import STALE
from tests.detector.shell.test_remote_write import Bench, Receiver, left, unit_of, writer_to
from tests.detector.shell.verdicts import judged
from tests.servers import wait_until


@pytest.mark.parametrize("status", [400, 413])
def test_store_that_refuses_everything_is_not_asked_for_each_sample(status: int) -> None:
    telemetry = Telemetry()
    with Receiver(lambda sent: (status, "no")) as store:
        writer = writer_to(store.url, telemetry)
        for _ in range(20):
            writer.put(unit_of(100))
        wait_until(lambda: sum(left(telemetry).values()) == 2000, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
        assert store.requests < 3 * 120, "what came while the first request was made may be two more"
    assert left(telemetry) == {"refused": 2000.0}


def test_store_that_takes_little_at_once_gets_all() -> None:
    telemetry = Telemetry()
    with Receiver(lambda sent: (413, "too large") if len(sent) > 3 else (204, "")) as store:
        writer = writer_to(store.url, telemetry)
        writer.put(unit_of(600))
        wait_until(lambda: sum(left(telemetry).values()) == 600, 60, lambda: f"{left(telemetry)}")
        writer.close(5.0)
    assert left(telemetry) == {"written": 600.0}


def test_program_ends_while_a_store_refuses(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = Telemetry()

    def refuse(sent: list[tuple[bytes, int, bytes]]) -> tuple[int, str]:
        threading.Event().wait(0.05)
        return 400, "no"

    with Receiver(refuse) as store:
        writer = writer_to(store.url, telemetry)
        writer.put(unit_of(1000))
        wait_until(lambda: store.requests > 2, 60, "it refuses")
        begun_s = time.monotonic()
        writer.close(0.3)
        assert time.monotonic() - begun_s < 15
    assert "samples were not written" in caplog.text


def test_windows_out_of_time_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    end_s = time.time() - 20.0
    with Receiver(lambda sent: (204, "")) as store, caplog.at_level("INFO"):
        bench = Bench(store.url)
        for offset_s in (0.0, 0.0, -5.0, -4.0, 1.0, 200.0, 2.0):
            bench.sink.publish(judged(end_s=end_s + offset_s))
        bench.await_empty()
        bench.sink.close()
        ends_ms = {time_ms for _, time_ms, value in store.taken if value != STALE}
    assert ends_ms == {round((end_s + offset_s) * 1000) for offset_s in (0.0, 1.0, 2.0)}
    values = sum(value != STALE for _, _, value in store.taken)
    assert bench.left("clock") == values, "three windows each"
    assert caplog.text.count("its clock or ours was set back") == 1
    assert caplog.text.count("its clock or ours is ahead") == 1
    assert caplog.text.count("are written again") == 2


def test_second_of_two_detectors_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = Telemetry()

    def is_sent(count: int) -> bool:
        return sum(left(telemetry).values()) == count

    answers = itertools.cycle([(204, ""), (400, "duplicate sample for timestamp"), (400, "out of order sample")])
    with Receiver(lambda sent: next(answers)) as store, caplog.at_level("INFO"):
        writer = writer_to(store.url, telemetry)
        for count in range(1, 10):
            writer.put(unit_of(5, back_s=20.0 - count))
            wait_until(partial(is_sent, 5 * count), 60, "it is sent")
        writer.close(5.0)
    assert left(telemetry) == {"written": 15.0, "refused": 30.0}
    (line,) = caplog.text.splitlines()
    assert "refuses scores that are late or there already, by another detector perhaps: duplicate sample" in line


def test_secrets_that_a_store_repeats_in_any_form_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    secret = 'p"ss<w0rd>& s3cret'

    def repeat(sent: list[tuple[bytes, int, bytes]]) -> tuple[int, str]:
        told = receiver.headers[-1]["Authorization"].removeprefix("Basic ")
        forms = (told, secret, json.dumps(secret), html.escape(secret), quote(secret))
        return 401, "\n".join(forms)

    in_url = f"http://me:{quote(secret, safe='')}@"
    for url, access in (("http://", {"username": "me", "password": secret}), (in_url, {})):
        with Receiver(repeat) as receiver:
            bench = Bench(receiver.url.replace("http://", url), access=access)
            bench.sink.publish(judged(end_s=time.time() - 5.0))
            bench.await_empty()
            bench.sink.close()
    (first, second) = (line for line in caplog.text.splitlines() if "status 401" in line)
    assert first.endswith('status 401: <secret> <secret> "<secret>" <secret> <secret>')
    assert second.endswith('status 401: <secret> <secret> "<secret>" <secret> <secret>')


def test_secret_is_not_shown_in_part_where_a_quote_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver(lambda sent: (401, "x" * 194 + " s3cret-token")) as store:
        bench = Bench(store.url, access={"bearer_token": "s3cret-token"})
        bench.sink.publish(judged(end_s=time.time() - 5.0))
        bench.await_empty()
        bench.sink.close()
    assert "status 401" in caplog.text
    assert "s3cr" not in caplog.text
