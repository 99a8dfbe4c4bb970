"""The shipped Prometheus files, read by the real tools; alerts also by a parser of the newest PromQL."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from catalog import FAMILIES
from catalog.outputs import OUTPUTS
from tests import servers
from tests.tree import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = sorted((PROMETHEUS / "rules").glob("*.yml"))
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
PARTS = ("What it says", "What to look at", "What it usually is", "What to do", "To silence")
ALERTS = [
    rule
    for file in RULES
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
]


TESTED: dict[str, list[bool]] = {}  # alert -> for each moment it is tested at, whether it fires
for file in (PROMETHEUS / "tests").glob("*.yml"):
    for case in yaml.safe_load(file.read_text())["tests"]:
        for test in case.get("alert_rule_test", []):
            TESTED.setdefault(test["alertname"], []).append(bool(test["exp_alerts"]))


def run(tool: str, *arguments: str | Path) -> str:
    """What the tool says; AssertionError with that when it complains."""
    command = [servers.binary(tool), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_configuration_is_valid_and_finds_the_rules() -> None:
    said = run("promtool", "check", "config", "--lint=all", "--lint-fatal", PROMETHEUS / "prometheus.yml")
    assert f"{len(RULES)} rule files found" in said


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.stem)
def test_rules_are_clean(file: Path) -> None:
    assert "SUCCESS" in run("promtool", "check", "rules", "--lint=all", "--lint-fatal", file)


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.stem)
def test_rules_fire_and_stay_silent_as_told(file: Path) -> None:
    assert "SUCCESS" in run("promtool", "test", "rules", PROMETHEUS / "tests" / file.name)


def test_detector_is_scraped_with_the_labels_it_gives() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs["hostpulse-detector"]["honor_labels"] is True
    assert "honor_labels" not in jobs["hostpulse"]


each_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])


@each_alert
def test_alert_reads_what_is_published(alert: dict[str, Any]) -> None:
    promql_parser.parse(alert["expr"])  # the grammar of Prometheus 3
    assert set(re.findall(r"hostpulse_\w+", yaml.safe_dump(alert))) <= FAMILIES.keys() | OUTPUTS.keys()


@each_alert
def test_alert_is_shown_to_fire_and_to_stay_silent(alert: dict[str, Any]) -> None:
    assert set(TESTED.get(alert["alert"], [])) == {True, False}


@each_alert
def test_alert_tells_how_bad_it_is_and_where(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"warning", "critical"}
    assert "subsystem" in alert["labels"] or alert["expr"].startswith("hostpulse_anomaly_")
    assert {"summary", "description", "runbook_url"} <= alert["annotations"].keys()


@each_alert
def test_alert_leads_to_its_heading_in_the_runbook(alert: dict[str, Any]) -> None:
    name = alert["alert"]
    assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"
    (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", RUNBOOK, flags=re.MULTILINE | re.DOTALL)
    assert [part for part in PARTS if f"**{part}.**" not in section] == []


def test_runbook_links_can_be_given_an_address(tmp_path: Path) -> None:
    (command,) = re.findall(r"^sed -i .*$", (ROOT / "docs" / "operating.md").read_text(), flags=re.MULTILINE)
    copied = shutil.copytree(PROMETHEUS, tmp_path / "deploy" / "prometheus")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    links = [link for file in copied.glob("rules/*.yml") for link in re.findall(r"runbook_url: (.*)", file.read_text())]
    assert len(links) == len(ALERTS)
    assert all(link.startswith("https://git.example.org/hostpulse/docs/runbook.md#") for link in links)


def test_runbook_has_no_heading_of_an_alert_that_is_gone() -> None:
    headings = re.findall(r"^## (\w+)$", RUNBOOK, flags=re.MULTILINE)
    assert sorted(headings) == sorted(alert["alert"] for alert in ALERTS)


def test_xid_numbers_are_in_one_alert_or_in_none() -> None:
    expressions = {alert["alert"]: alert["expr"] for alert in ALERTS}
    critical, passed_over = (
        re.findall(r'xid[=!]~"([^"]*)"', expressions[name])[0] for name in ("GpuXidCritical", "GpuXid")
    )
    assert passed_over.startswith(f"{critical}|")
