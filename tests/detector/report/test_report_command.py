"""``hostpulse-detector report``: out of what is remembered, and out of samples where nothing is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detector.clock import SystemClock
from detector.config import load
from detector.incidents.ask import AskError
from detector.incidents.store import FILE, IncidentStore
from detector.options import Options, parse
from detector.replay import ReplayError
from detector.report.answer import NotFoundError
from detector.report.command import report
from tests.detector.incidents.cases import made
from tests.detector.synthetic import START_S, fault_of, synthetic_frame
from tests.dumps import as_openmetrics
from tests.tree import ROOT

SICK, QUIET = "sick:17720", "quiet:17720"
FAULT_S, FAULT_ENDS_S = 130.0, 170.0


def told(**given: Any) -> str:
    """The report, without any source."""
    state = given.pop("state", "")
    options = replace(parse(["report"], {}), **given)
    settings = load(None, {"state.directory": str(state), "source.exporter.targets": "http://127.0.0.1:1"}, {})
    return report(options, settings, {}, SystemClock(), lambda _name, _done: False)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts that were scraped every second, one of which got a slow disk."""
    frames = [
        replace(
            synthetic_frame(
                200.0, fault_of("storage", FAULT_S, FAULT_ENDS_S) if name == SICK else (), seed, interval_s=1.0
            ),
            instance=name,
        )
        for seed, name in enumerate((SICK, QUIET))
    ]
    return as_openmetrics(frames, tmp_path_factory.mktemp("dumps") / "hosts.om")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A folder that remembers an incident."""
    store = IncidentStore(tmp_path / "state")
    store.put(made(1))
    store.close()
    return tmp_path / "state"


def at(elapsed_s: float) -> str:
    return repr(START_S + elapsed_s)


FAULT: dict[str, Any] = {"from_time": at(FAULT_S), "to_time": at(FAULT_ENDS_S), "form": "json"}


def test_incident_is_told_by_its_id_and_by_its_time(state: Path) -> None:
    assert told(state=state, incident=made(1).id).startswith(f"# {made(1).instance}: storage")
    assert json.loads(told(state=state, at_time=at(3600 + 30), form="json"))["id"] == made(1).id
    assert made(1).id.replace(":", "%3A") in told(state=state)


def test_time_of_a_fault_beside_the_time_before_shows_what_was_wrong(dump: Path) -> None:
    found = json.loads(told(recording=dump, instance=SICK, **FAULT))
    assert found["beside"]["to"] <= found["this"]["from"]
    assert max(found["shares"], key=lambda name: found["shares"][name]) == "storage"
    assert found["signatures"][0]["name"] == "disk-saturation"
    assert found["differences"][0]["subsystem"] == "storage"
    assert found["differences"][0]["this"] > found["differences"][0]["beside"]


def test_host_beside_another_shows_what_differs(dump: Path) -> None:
    found = json.loads(told(recording=dump, instance=SICK, beside=QUIET, **FAULT))
    assert (found["this"]["instance"], found["beside"]["instance"]) == (SICK, QUIET)
    assert found["signatures"][0]["name"] == "disk-saturation"


def test_host_is_compared_by_its_name_without_a_port(dump: Path) -> None:
    host = SICK.partition(":")[0]
    assert told(recording=dump, **FAULT, instance=host) == told(recording=dump, **FAULT, instance=SICK)


def test_times_that_are_alike_hardly_differ(dump: Path) -> None:
    fields = {"from_time": at(60), "to_time": at(100), "beside": f"{at(15)}/{at(55)}", "form": "md"}
    assert "Hardly anything differs." in told(recording=dump, instance=QUIET, **fields)


@pytest.mark.parametrize("form", ["md", "html"])
def test_comparison_is_written_in_every_format(dump: Path, form: str) -> None:
    text = told(recording=dump, instance=SICK, **(FAULT | {"form": form}))
    assert "What differs" in text
    assert "iostat -x 1 5" in text


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"instance": SICK}, AskError, "--from and --to must say which stretch"),
        ({**FAULT, "instance": "nobody"}, AskError, "nobody is called 'nobody'"),
        ({**FAULT}, AskError, f"--instance: must be one of {QUIET}, {SICK}|one of {SICK}, {QUIET}"),
        ({**FAULT, "instance": SICK, "from_time": "soon"}, AskError, "--from: 'soon' is no time from 1970 to 9997"),
        ({**FAULT, "instance": SICK, "to_time": at(1)}, AskError, "--from must be before --to"),
        ({**FAULT, "instance": SICK, "beside": f"{at(1)}/{at(140)}"}, AskError, "must not overlap"),
        ({**FAULT, "instance": SICK, "beside": "/"}, AskError, "--beside: FROM: '' is no time from 1970 to 9997"),
        ({**FAULT, "instance": SICK, "beside": "2/1"}, AskError, "--beside: FROM must be before --beside: TO"),
        ({**FAULT, "instance": SICK, "beside": f"{at(-90)}/{at(-50)}"}, ReplayError, "there are no samples between"),
        ({**FAULT, "instance": SICK, "form": "pdf"}, AskError, "format: must be one of html, md, json"),
    ],
)
def test_wrong_flag_is_named(dump: Path, given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        told(recording=dump, **given)


@pytest.mark.parametrize(
    ("given", "first", "second"),
    [
        ({"incident": "x", "at_time": at(1)}, "--incident", "--at"),
        ({"incident": "x", "instance": SICK}, "--incident", "--instance"),
        ({"incident": "x", **FAULT}, "--incident", "--from and --to"),
        ({"incident": "x", "beside": QUIET}, "--incident", "--beside"),
        ({"at_time": at(1), "from_time": at(2)}, "--at", "--from"),
        ({"at_time": at(1), "recording": Path("there")}, "--at", "--recording"),
    ],
)
def test_flags_that_ask_for_different_things_are_named(
    given: dict[str, Any], first: str, second: str, state: Path
) -> None:
    with pytest.raises(AskError, match=f"^{first}: cannot be asked for together with {second}, only with --"):
        told(state=state, **given)


def test_where_nothing_is_remembered_the_way_out_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=f"remembered in {tmp_path}/none: --state.directory names another folder"):
        told(state=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_file_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database" * 500)
    with pytest.raises(NotFoundError, match=f"incidents in {tmp_path} cannot be read: file is not a database"):
        told(state=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [FILE]
    with pytest.raises(NotFoundError, match="cannot be read: File name too long"):
        told(state=tmp_path / ("a" * 300))


def test_period_without_incidents_is_told_when_its_samples_are_gone(state: Path) -> None:
    text = told(state=state, instance="other", from_time="1", to_time="2")
    assert f"No incident is known of that time. What is remembered was read in {state}." in text
    with pytest.raises(NotFoundError, match=f"none, or more than one, is called 'nobody' in {state}"):
        told(state=state, incident="nobody")


def test_command_prints_the_report_and_says_what_is_wrong(state: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "detector", "report", f"--state.directory={state}", *arguments]
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}  # which has no sigma
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)

    done = run(f"--incident={made(1).id}", "--format=html")
    assert (done.returncode, done.stdout.startswith("<!doctype html>")) == (0, True)
    wrong = run("--at=soon")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "report: --at: 'soon' is no time from 1970 to 9997" in wrong.stderr
    assert run("--incident=nobody").returncode == 1
    empty = run("--incident=")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "argument --incident: must not be empty" in empty.stderr


def test_options_of_the_report_have_defaults() -> None:
    assert parse(["report"], {}) == Options("report", None, {}, form="md")
