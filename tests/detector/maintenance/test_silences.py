"""Alertmanager's silences as maintenance: which count, and what becomes of them, with a running Alertmanager."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from detector.clock import SystemClock
from detector.maintenance.register import Register
from detector.maintenance.silences import ALERTS, Silences
from detector.settings import TABLE
from detector.source import Host
from detector.telemetry import Telemetry
from tests.servers import Server, binary, start_alertmanager
from tests.tree import ROOT

NODE7, NODE8 = Host("node7:17720", "hostpulse"), Host("node8:17720", "hostpulse")
ERRORS = "hostpulse_detector_silences_errors_total"


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("alertmanager")
    with start_alertmanager(folder, ROOT / "deploy" / "alertmanager" / "alertmanager.yml") as server:
        yield server


class Reader:
    """What is known of an Alertmanager's silences."""

    def __init__(self, url: str) -> None:
        self.clock, self.telemetry, self.register = SystemClock(), Telemetry(), Register()
        settings = TABLE.model_validate({"maintenance": {"alertmanager": url}}).maintenance
        self.silences = Silences(settings, self.register, self.telemetry, self.clock)

    def covered(self, *hosts: Host) -> list[bool]:
        self.silences.look()
        return [self.register.covers(host, self.clock.wall_s()) for host in hosts]


def amtool(server: Server, *arguments: str) -> str:
    command = [str(binary("amtool")), f"--alertmanager.url={server.url}", "silence", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def silence(server: Server, *matchers: str) -> str:
    """The id of a new silence."""
    return amtool(server, "add", "--duration=1h", "--comment=test", "--author=test", *matchers)


@pytest.mark.parametrize(
    ("matchers", "covered"),
    [
        (["instance=node7:17720"], [True, False]),
        (["instance=~node[78]:.*"], [True, True]),
        (["job=hostpulse", "instance!=node8:17720"], [True, False]),
        (["job=hostpulse", "alertname=~Host.*"], [True, True]),
        (["instance=node7:17720", "alertname=HostAnomaly"], [False, False]),
        (["instance=node7:17720", "subsystem=gpu"], [False, False]),
        (["instance=node7:17720", "severity=warning"], [False, False]),
        (["instance=node7:17720", "gpu=3"], [False, False]),
        (["alertname=~Host.*"], [False, False]),
    ],
)
def test_silence_of_whole_hosts_is_maintenance(alertmanager: Server, matchers: list[str], covered: list[bool]) -> None:
    reader, made = Reader(alertmanager.url), silence(alertmanager, *matchers)
    try:
        assert reader.covered(NODE7, NODE8) == covered
    finally:
        amtool(alertmanager, "expire", made)
    assert reader.covered(NODE7, NODE8) == [False, False]


def test_silence_stays_in_force_while_alertmanager_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with start_alertmanager(tmp_path, ROOT / "deploy" / "alertmanager" / "alertmanager.yml") as server:
        silence(server, "instance=node7:17720")
        reader = Reader(server.url)
        assert reader.covered(NODE7) == [True]
    assert reader.covered(NODE7) == [True]
    assert reader.covered(NODE7) == [True]
    assert reader.telemetry.registry.get_sample_value(ERRORS) == 2
    assert caplog.text.count("silences cannot be read") == 1


def test_answer_that_is_not_alertmanagers_is_an_error(alertmanager: Server) -> None:
    reader = Reader(f"{alertmanager.url}/nowhere")
    assert reader.covered(NODE7) == [False]
    assert reader.telemetry.registry.get_sample_value(ERRORS) == 1


def test_alerts_of_a_host_are_those_that_are_shipped() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules/hostpulse.yml").read_text())["groups"][0]["rules"]
    assert {rule["alert"]: rule["labels"]["severity"] for rule in rules} == ALERTS
