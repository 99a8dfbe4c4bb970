"""The pages: each thing has its heading, each link its target, and each command of README and tutorial works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from deploy.detector_page import detector_page
from deploy.reference_page import reference_page
from deploy.run_local import _parse
from detector.calibration import ENOUGH_EXCESSES
from detector.detectors.registry import registered
from detector.judge import MAXIMA_PERIOD_S
from detector.model import FUSED
from detector.peers import PEERS
from detector.settings import walk
from detector.training import FULL_ROWS
from exporter.collector import discover
from exporter.settings import Settings
from tests.deploy.test_prometheus import ALERTS
from tests.page import blocks, carry_out
from tests.tree import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
ELSEWHERE = {  # commands of README, tutorial and operating that are tried in another way, or cannot be tried here
    "make venv": "the environment that runs this test",
    "make run": "tests/deploy/test_run_local.py",
    "make test": "this",
    "python3 -m venv /opt/hostpulse": "tests/test_packaging.py, in another folder",
    "/opt/hostpulse/bin/pip install .": "tests/test_packaging.py, in another folder",
    "timeout 30 dd if=/dev/zero of=big bs=1M oflag=direct; rm big": "tests/e2e/test_faults.py, with a gentler tool",
    "(timeout 30 dd if=/dev/zero of=big bs=1M oflag=direct; rm big) &": "as above",
    "stress-ng --hdd 1": "as above",
    "watch -n1": "needs a terminal",
    "docker compose": "needs containers; tests/deploy/test_containers.py reads the files",
    "useradd --system": "would change this machine",
    "cp deploy/systemd/*.service /etc/systemd/system/": "would change this machine",
    "systemctl": "needs systemd; tests/deploy/test_containers.py reads the units",
    "sed -i": "test_runbook_links_can_be_given_an_address",
    "amtool silence add": "tests/detector/maintenance/test_live.py",
    "curl --json": "tests/detector/maintenance/test_live.py and the tutorial",
    "curl -X DELETE": "tests/detector/maintenance/test_desk.py",
    "curl -H 'Authorization: Bearer TOKEN'": "tests/detector/maintenance/test_desk.py",
    "curl http://127.0.0.1:17721/api/v1/maintenance": "the tutorial",
}
LIMIT_S = 240.0


def _headings(page: str) -> list[str]:
    without_code = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+)$", without_code, flags=re.MULTILINE)


def _anchor(heading: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_each_setting_collector_detector_and_alert_has_its_heading() -> None:
    headings = _headings(reference_page())
    wanted = [f"--{setting.metadata['flag']}" for setting in fields(Settings)]
    wanted += [setting.key for setting in walk()]
    wanted += [*discover(), *registered(), FUSED, PEERS, *(alert["alert"] for alert in ALERTS)]
    assert [name for name in wanted if f"`{name}`" not in headings] == []
    assert len(wanted) > 100


def test_each_section_of_the_configuration_stands_once() -> None:
    headings = _headings(detector_page())
    assert {"`maintenance`", "`remote_write.access`"} < set(headings)
    assert [name for name in set(headings) if headings.count(name) > 1] == []


def test_flags_of_single_commands_are_in_the_table() -> None:
    rows = [line.split(" | ")[:2] for line in detector_page().splitlines() if line.startswith("| `")]
    for command, flag in (
        ("run", "--dry-run"),
        ("validate", "--json"),
        ("backtest", "--json"),
        ("replay", "--from=PATH"),
    ):
        assert [f"| `{command}`", f"`{flag}`"] in rows
    assert ["| `completion`", "`{bash,zsh,fish}`"] in rows


def test_readme_says_where_make_run_keeps_what_report_reads() -> None:
    told = re.findall(r"hostpulse-detector report --state\.directory=([^\s`]+)", (ROOT / "README.md").read_text())
    assert [ROOT / folder for folder in told] == [_parse([]).folder / "state"]


def test_page_says_when_a_bound_is_calibrated() -> None:
    page = (ROOT / "docs" / "detection.md").read_text()
    minutes = round(10 * ENOUGH_EXCESSES * MAXIMA_PERIOD_S / 60)
    assert f"once {minutes} minutes have been scored" in page
    assert f"no longer grow (of {FULL_ROWS} windows or more)" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        known = file.suffix == ".md" and file.is_file() and map(_anchor, _headings(file.read_text()))
        if not file.exists() or (anchor and anchor not in (known or ())):
            broken.append(target)
    assert broken == []


def _commands(page: str) -> Iterator[str]:
    """Each line of a block that says no other language, and in sentences what begins with a program known here."""
    for block in blocks(page, ""):
        yield from (line.partition("  #")[0].strip() for line in block.splitlines())
    programs = {command.partition(" ")[0] for command in ELSEWHERE}
    sentences = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`]+)`", sentences):
        command = " ".join(code.split())
        if " " in command and command.partition(" ")[0] in programs:
            yield command


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", "docs/operating.md"])
def test_command_that_the_tutorial_does_not_run_is_tried_elsewhere(page: str) -> None:
    commands = list(_commands((ROOT / page).read_text()))
    untold = [command for command in commands if not command.startswith(tuple(ELSEWHERE))]
    assert untold == []
    assert commands


def test_blocks_of_the_tutorial_that_are_not_run_are_tried_elsewhere() -> None:
    skipped = [block.strip() for block in blocks(TUTORIAL, "sh") if block.strip() in ELSEWHERE]
    assert skipped == ["make venv"]


def test_tutorial_works_as_written(tmp_path: Path) -> None:
    script = "\n".join(block for block in blocks(TUTORIAL, "sh") if block.strip() not in ELSEWHERE)
    said = carry_out(script, tmp_path, LIMIT_S)
    for expected in ("hostpulse_host_pressure_waiting", "learning_progress_ratio{", '"comment":"tutorial"', '"phase":'):
        assert expected in said
    assert not (tmp_path / ".cache" / "tutorial").exists()
