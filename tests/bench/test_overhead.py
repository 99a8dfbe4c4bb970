from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

import pytest

from bench import overhead
from bench.process import Watched, at_rate
from tests.servers.programs import start_exporter


def test_lateness_is_measured_on_the_grid_of_the_first_tick() -> None:
    times = [50.0, 50.1003, 50.25, 50.2999, 50.9]
    assert overhead.lateness_s(times, 50.0, 0.1) == pytest.approx([0.0, 0.0003, 0.05, -0.0001, 0.0], abs=1e-9)


def test_percentile_is_a_value_that_was_there() -> None:
    assert overhead.percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert overhead.percentile([float(value) for value in range(1, 101)], 0.99) == 99.0
    assert overhead.percentile([5.0], 0.99) == 5.0


def test_calls_keep_to_the_rate_and_take_the_whole_time() -> None:
    calls: list[float] = []
    started_s = time.monotonic()
    at_rate(0.3, 20.0, lambda: calls.append(time.monotonic() - started_s))
    assert len(calls) == 6
    assert calls[-1] >= 0.25
    assert time.monotonic() - started_s >= 0.3


def test_cpu_time_of_another_process_grows_with_its_work(tmp_path: Path) -> None:
    with start_exporter(tmp_path) as server, Watched(server) as watched:
        started_s, before_s = time.monotonic(), watched.cpu_s()
        for _ in range(50):
            watched.get("/metrics")
        used_s = watched.cpu_s() - before_s
        assert 0.002 < used_s <= (time.monotonic() - started_s) * (os.cpu_count() or 1)
        assert watched.rss_bytes() > 1e7


def test_connection_that_was_closed_is_made_anew(tmp_path: Path) -> None:
    with start_exporter(tmp_path) as server, Watched(server) as watched:
        first = watched.get("/-/healthy")
        watched._connection.sock.shutdown(socket.SHUT_RDWR)  # as a server does with one that was idle for long
        assert watched.get("/-/healthy") == first


def test_short_run_ends_with_one_line_of_plausible_figures(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--seconds=1", "--rounds=1", "--json"])
    table, _, line = capsys.readouterr().out.strip().rpartition("\n")
    figures = json.loads(line)
    assert list(figures) == [
        "values", "families", "exporter_core_percent", "scrape_cpu_ms", "rss_mb", "late_ms_p99",
        "node_exporter_core_percent", "node_exporter_values", "ratio_per_value",
    ]  # fmt: skip
    assert all(name in table for name in figures)
    assert figures["values"] > figures["families"] > 90
    assert figures["node_exporter_values"] > 300
    assert min(figures[f"{name}_core_percent"] for name in ("exporter", "node_exporter")) > 0
    theirs = figures["node_exporter_core_percent"] / figures["node_exporter_values"]
    ours = figures["exporter_core_percent"] / figures["values"]
    assert figures["ratio_per_value"] == pytest.approx(theirs / ours, abs=0.01)


def test_curve_has_a_share_for_each_interval(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--seconds=1", "--rounds=1", "--intervals=50ms,1s", "--json"])
    figures = json.loads(capsys.readouterr().out.strip().rpartition("\n")[2])
    assert list(figures) == ["core_percent_at_50ms", "core_percent_at_1s"]
    assert min(figures.values()) > 0


def test_interval_that_the_exporter_would_not_take_is_told_what_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        overhead.main(["--intervals=100ms,fast"])
    assert "--intervals: 'fast' is not allowed; allowed: a duration such as 100ms" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--seconds=2", "--rounds=3"], "--seconds must be at least 1 for each of --rounds"),
        (["--rounds=0"], "--rounds: '0' is not allowed; allowed: 1 to 1000"),
        (["--seconds=0"], "--seconds: '0' is not allowed; allowed: 1 to 86400"),
    ],
)
def test_rounds_of_no_length_are_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        overhead.main(arguments)
    assert complaint in capsys.readouterr().err


def test_written_tree_of_a_large_host_is_measured_with_its_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--seconds=1", "--rounds=1", "--machine=amd", "--json"])
    figures = json.loads(capsys.readouterr().out.strip().rpartition("\n")[2])
    assert (figures["machine"], figures["cpus"], figures["gpus"]) == ("amd", 192, 8)
    assert figures["values"] >= 700
    assert figures["exporter_core_percent"] > 0
    assert figures.keys() >= {"scrape_cpu_ms", "rss_mb"}
