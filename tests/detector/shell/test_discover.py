"""``discover`` says who is there, who tells what of them, and what nobody tells, on a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog import SIGNALS
from catalog.exporters import NODE_EXPORTER
from catalog.families import cpu, memory, network
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.clock import SystemClock
from detector.config import load
from detector.described import as_json, as_text
from detector.discovery import Described, describe
from detector.service import build_source
from detector.translation import Translation, name_matchers
from tests.detector.shell.test_command import run
from tests.servers import (
    Prometheus,
    Server,
    scrape_job,
    start_exporter,
    start_node_exporter,
    start_prometheus,
    wait_until,
)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It scrapes one host, by node_exporter and by ours."""
    folder = tmp_path_factory.mktemp("site")
    with start_node_exporter(folder) as node, start_exporter(folder) as own:
        jobs = [scrape_job(job, server.address, interval="200ms") for job, server in (("node", node), ("own", own))]
        with start_prometheus(folder / "prometheus", jobs) as server:
            server.await_result("count_over_time(up[1m]) >= 10", accept=lambda result: len(result) == len(jobs))
            yield server


def found(**flags: str) -> tuple[str, list[Described]]:
    """Address and hosts, in this process: the program takes seconds to start."""
    settings = load(None, {name.replace("__", "."): value for name, value in flags.items()}, {})
    source = build_source(settings, SystemClock())
    try:
        return source.address, describe(source, settings)
    finally:
        source.close()


def told(prometheus: Prometheus, **flags: str) -> dict[str, Any]:
    (host,) = as_json(*found(source__prometheus__url=prometheus.url, **flags))["hosts"]
    one: dict[str, Any] = host
    return one


def test_each_metric_is_told_with_the_exporter_it_comes_from(prometheus: Prometheus) -> None:
    host = told(prometheus)
    by_exporter = {one["exporter"]: set(one["metrics"]) for one in host["exporters"]}
    assert list(by_exporter) == ["hostpulse-exporter", "node_exporter"]
    assert cpu.SECONDS.name in by_exporter["hostpulse-exporter"]
    assert not by_exporter["hostpulse-exporter"] & by_exporter["node_exporter"]
    alone = told(prometheus, source__prometheus__job="node")
    (exporter,) = alone["exporters"]
    assert (exporter["job"], exporter["instance"]) == ("node", alone["instance"])
    assert memory.TOTAL_BYTES.name in exporter["metrics"]
    assert exporter["interval_s"] == pytest.approx(0.2, abs=0.05)


def test_coverage_holds_each_signal_once_and_says_who_could_tell_it(prometheus: Prometheus) -> None:
    coverage = told(prometheus, source__prometheus__job="node")["coverage"]
    assert tuple(coverage) == JUDGED_SUBSYSTEMS
    names = [name for one in coverage.values() for name in one["told"]]
    missing = {entry["signal"]: entry for one in coverage.values() for entry in one["missing"]}
    assert sorted([*names, *missing]) == sorted(SIGNALS)
    assert missing["cpu_interrupt_imbalance_ratio"]["told_by"] == ["hostpulse-exporter"]
    assert missing["gpu_power_watts"]["told_by"] == ["hostpulse-exporter", "dcgm-exporter"]
    assert missing["memory_thp_fallbacks_per_second"]["told_by"] == ["hostpulse-exporter", "node_exporter"]


def test_causes_are_listed_that_nothing_told_would_show(prometheus: Prometheus) -> None:
    shown_by = {
        jobs: {
            one["cause"]: one["shown_by"] for one in told(prometheus, source__prometheus__job=jobs)["causes_not_named"]
        }
        for jobs in ("node", "own,node")
    }
    assert shown_by["node"]["irq-imbalance"] == ["hostpulse-exporter"]
    assert shown_by["node"]["memory-reclaim"] == ["hostpulse-exporter", "node_exporter"]
    assert not {"memory-reclaim", "irq-imbalance"} & shown_by["own,node"].keys()
    assert not {"disk-saturation", "packet-loss"} & shown_by["node"].keys(), "both are told"
    assert not any(cause.startswith("gpu-") for causes in shown_by.values() for cause in causes), "it has none"


def test_what_is_looked_at_only_once_something_is_found_is_read_of_others_too() -> None:
    means = Translation(NODE_EXPORTER)
    (names,) = name_matchers(NODE_EXPORTER)
    for probed in (network.CONNTRACK_ENTRIES, network.CONNTRACK_ENTRIES_LIMIT):
        found = means({"__name__": probed.aliases[0].name})
        assert found is not None
        assert found.series == probed()
        assert probed.aliases[0].name.removeprefix("node_") in names


def test_text_names_host_window_exporter_and_what_is_not_seen(prometheus: Prometheus) -> None:
    text = as_text(*found(source__prometheus__url=prometheus.url, source__prometheus__job="node"))
    assert text.startswith("1 host at http://127.0.0.1:")
    for said in (
        "judged in windows of 3s, a new one every 1s",
        "node_exporter (job node, every 200ms) tells",
        "no GPU is told of",
        "not seen (told by hostpulse-exporter alone): ",
        "interrupts over CPUs",
        "metrics, by our names: hostpulse_",
        "causes that could not be named (hostpulse-detector explain NAME says what each is): shown by ",
    ):
        assert said in " ".join(text.split())


def test_site_without_a_known_exporter_has_no_hosts(prometheus: Prometheus) -> None:
    done = run("discover", f"--source.prometheus.url={prometheus.url}", "--source.prometheus.job=nobody", limit_s=60)
    assert done.stdout.startswith("0 hosts at ")
    assert done.returncode == 0


def test_exporter_that_is_read_directly_is_told_of_too(tmp_path: Path) -> None:
    with start_exporter(tmp_path) as server:
        wait_until(lambda: not described(server).trouble, 60, "two samples")
        (origin,) = described(server).origins
    assert origin.exporter == "hostpulse-exporter"
    assert origin.interval_s == pytest.approx(0.1)


def described(server: Server) -> Described:
    _, (host,) = found(source__exporter__targets=server.url)
    return host


def test_source_that_cannot_be_asked_is_an_error_with_its_address() -> None:
    done = run("discover", "--json", "--source.prometheus.url=http://127.0.0.1:1", limit_s=60)
    assert done.returncode == 1
    assert "http://127.0.0.1:1" in done.stderr
