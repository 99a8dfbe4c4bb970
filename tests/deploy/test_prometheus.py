"""The shipped Prometheus and Alertmanager files, read by the real tools and by a parser of the newest PromQL."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from catalog.outputs import OUTPUTS
from tests import servers
from tests.tree import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = sorted((PROMETHEUS / "rules").glob("*.yml"))
ALERTMANAGER = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
ALERTS = [
    rule
    for file in RULES
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
]


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


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alert_reads_what_the_detector_publishes(alert: dict[str, Any]) -> None:
    promql_parser.parse(alert["expr"])  # the grammar of Prometheus 3
    assert set(re.findall(r"hostpulse_\w+", yaml.safe_dump(alert))) <= OUTPUTS.keys()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alert_leads_to_its_heading_in_the_runbook(alert: dict[str, Any]) -> None:
    page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), flags=re.MULTILINE)
    assert alert["alert"] in headings
    assert anchor == alert["alert"].lower()


def test_alertmanager_accepts_its_file_and_routes_the_alert() -> None:
    assert "SUCCESS" in run("amtool", "check-config", ALERTMANAGER)
    route = run("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}", "alertname=HostAnomaly")
    assert route.split() == ["webhook"]


def test_two_subsystems_of_one_host_are_two_notifications() -> None:
    assert {"instance", "subsystem"} <= set(yaml.safe_load(ALERTMANAGER.read_text())["route"]["group_by"])
