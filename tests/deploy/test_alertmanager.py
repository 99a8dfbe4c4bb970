"""The shipped Alertmanager files: who is told what by amtool, what keeps what back by a running Alertmanager."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests import servers
from tests.deploy.test_prometheus import ALERTS, run
from tests.servers import Server, wait_until
from tests.tree import ROOT

FOLDER = ROOT / "deploy" / "alertmanager"
FILE = FOLDER / "alertmanager.yml"
CONFIG: dict[str, Any] = yaml.safe_load(FILE.read_text())
EXAMPLES: dict[str, Any] = yaml.safe_load((FOLDER / "receivers.example.yml").read_text())
NODE7 = {"job": "hostpulse", "instance": "node7:17720"}
LIMIT_S = 60.0


def _route(**labels: str) -> str:
    matchers = [f"{name}={value}" for name, value in labels.items()]
    return run("amtool", "config", "routes", "test", f"--config.file={FILE}", *matchers).strip()


def test_file_is_accepted() -> None:
    assert "SUCCESS" in run("amtool", "check-config", FILE)


def test_example_receivers_are_accepted_in_place_of_the_shipped_ones(tmp_path: Path) -> None:
    merged = {**CONFIG, **EXAMPLES, "templates": [str(FOLDER / "templates" / "*.tmpl")]}
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(merged))
    assert "3 receivers" in run("amtool", "check-config", tmp_path / "alertmanager.yml")
    assert [one["name"] for one in EXAMPLES["receivers"]] == [one["name"] for one in CONFIG["receivers"]]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alert_reaches_who_can_act_on_it(alert: dict[str, Any]) -> None:
    name, severity = alert["alert"], alert["labels"]["severity"]
    told = "pager" if severity == "critical" else "operators" if name.startswith("Hostpulse") else "team"
    assert _route(alertname=name, severity=severity) == told


def test_hosts_of_a_job_that_are_sick_alike_are_one_warning_and_a_page_each() -> None:
    by_receiver = {route["receiver"]: route["group_by"] for route in CONFIG["route"]["routes"]}
    assert CONFIG["route"]["group_by"] == ["job", "subsystem"]
    assert {"instance", "subsystem"} <= set(by_receiver["pager"])


def test_only_a_host_that_is_down_keeps_a_page_back() -> None:
    hiding = [rule for rule in CONFIG["inhibit_rules"] if "HostAnomalyPage" in str(rule["target_matchers"])]
    assert [rule["source_matchers"] for rule in hiding] == [['alertname="HostpulseExporterDown"']]
    assert all({"job", "instance"} <= set(rule["equal"]) for rule in CONFIG["inhibit_rules"])


@pytest.mark.parametrize("rule", CONFIG["inhibit_rules"], ids=lambda rule: rule["source_matchers"][0])
def test_inhibition_names_alerts_that_there_are(rule: dict[str, Any]) -> None:
    names = [
        name for text in rule["source_matchers"] + rule["target_matchers"] for name in text.split('"')[1].split("|")
    ]
    assert set(names) <= {alert["alert"] for alert in ALERTS}


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("alertmanager")
    with servers.start_alertmanager(folder, FILE) as server:
        yield server


def _raise_alerts(server: Server, *alerts: dict[str, str]) -> None:
    body = [{"labels": alert, "annotations": {}, "startsAt": datetime.now(UTC).isoformat()} for alert in alerts]
    assert requests.post(f"{server.url}/api/v2/alerts", json=body, timeout=10).ok


def _kept_back(server: Server) -> set[str]:
    alerts = server.get("/api/v2/alerts").json()
    return {f"{a['labels']['alertname']} {a['labels']['instance']}" for a in alerts if a["status"]["inhibitedBy"]}


def test_host_that_is_down_and_a_page_keep_back_what_they_imply_and_nothing_else(alertmanager: Server) -> None:
    cpu = {"subsystem": "cpu", "severity": "warning"}
    memory = cpu | {"subsystem": "memory"}
    node8, node9 = ({**NODE7, "instance": f"node{number}:17720"} for number in (8, 9))
    _raise_alerts(
        alertmanager,
        {"alertname": "HostpulseExporterDown", "severity": "critical", "subsystem": "none", **NODE7},
        {"alertname": "HostAnomalyPage", **NODE7, **cpu, "severity": "critical"},
        {"alertname": "HostAnomaly", **NODE7, **memory},
        {"alertname": "HostAnomalyPage", **node8, **cpu, "severity": "critical"},
        {"alertname": "HostAnomaly", **node8, **cpu},
        {"alertname": "HostAnomaly", **node9, **cpu},
        {"alertname": "GpuLost", **NODE7, "gpu": "3", "subsystem": "gpu", "severity": "critical"},
    )
    expected = {"HostAnomalyPage node7:17720", "HostAnomaly node7:17720", "HostAnomaly node8:17720"}
    wait_until(lambda: expected <= _kept_back(alertmanager), LIMIT_S, lambda: f"kept back: {_kept_back(alertmanager)}")
    assert _kept_back(alertmanager) == expected


def test_warnings_of_hosts_sick_alike_are_one_message_and_pages_are_each_their_own(tmp_path: Path) -> None:
    alike = {"job": "hostpulse", "subsystem": "storage"}
    warned, paged = (
        [{"alertname": name, "severity": severity, "instance": f"node{number}:17720", **alike} for number in numbers]
        for name, severity, numbers in (
            ("HostAnomaly", "warning", range(3, 6)),
            ("HostAnomalyPage", "critical", range(1, 4)),
        )
    )
    with servers.Webhook() as team, servers.Webhook() as pager:
        hooks = {"team": team.url, "pager": pager.url, "operators": pager.url}
        receivers = [{"name": name, "webhook_configs": [{"url": url}]} for name, url in hooks.items()]
        config = {**CONFIG, "receivers": receivers, "templates": []}
        with servers.start_alertmanager(tmp_path, config) as server:
            _raise_alerts(server, *warned, *paged)
            wait_until(
                lambda: len(pager.received) == 3 and team.received, LIMIT_S, lambda: f"{team.messages} {pager.messages}"
            )
        told = [sorted(alert["labels"]["instance"] for alert in message) for message in team.messages]
        assert told == [["node4:17720", "node5:17720"]], "node3 is paged, which says it"
        assert [len(message) for message in pager.messages] == [1, 1, 1]


def test_message_has_what_happened_the_report_and_the_runbook(tmp_path: Path) -> None:
    alert = {
        "status": "firing",
        "labels": {},
        "annotations": {
            "summary": "node7: sick",
            "description": "It is.",
            "report": "http://d/r",
            "runbook_url": "b#c",
        },
        "startsAt": "2026-11-30T09:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
    }
    data = {"status": "firing", "groupLabels": {"job": "j", "subsystem": "cpu"}, "alerts": [alert]}
    assert _message("title", data, tmp_path) == "[FIRING 1] node7: sick"
    assert _message("title", {**data, "alerts": [alert, alert]}, tmp_path) == "[FIRING 2] j cpu"
    text = _message("text", data, tmp_path)
    assert text == "node7: sick\nIt is.\nReport: http://d/r\nRunbook: b#c\nSince: 2026-11-30 09:00:00 UTC"


def _message(part: str, data: dict[str, Any], folder: Path) -> str:
    """One of the shipped texts, of these alerts."""
    file = folder / "data.json"
    file.write_text(json.dumps(data))
    text = f'{{{{ template "hostpulse.{part}" . }}}}'
    glob = FOLDER / "templates" / "*.tmpl"
    return run(
        "amtool", "template", "render", f"--template.glob={glob}", f"--template.text={text}", f"--template.data={file}"
    ).strip()
