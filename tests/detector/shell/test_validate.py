"""``validate`` and ``run --dry-run`` try a configuration out on real stores, and name the setting that is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import requests

from detector.clock import SystemClock
from detector.config import load
from detector.validated import as_json, as_text
from detector.validation import Report, series_of_a_host, validate
from tests.detector.shell.history import node_host, write
from tests.detector.shell.scripted import Answer, Scripted
from tests.detector.shell.test_command import run
from tests.servers import Server, start_victoria_metrics
from tests.tree import ROOT

INTERVALS_S = {"second": 1.0, "usual": 15.0}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A store with two hosts of one job that are scraped at different intervals."""
    end_s = float(int(time.time()) - 5)
    with start_victoria_metrics(tmp_path_factory.mktemp("store")) as server:
        for name, interval_s in INTERVALS_S.items():
            times_s = end_s - interval_s * np.arange(60)[::-1]
            write(server, node_host({"job": "node", "instance": f"{name}:9100"}, times_s))
        yield server


def tried(url: str, **flags: str) -> Report:
    """What is found with these flags, in this process: the program takes seconds to start."""
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in flags.items()}
    return validate(load(None, {"source.prometheus.url": url, **given}, {}), {}, SystemClock())


def test_windows_are_shown_against_scrape_intervals(store: Server) -> None:
    found = tried(store.url)
    windows = {one.host.instance: (one.interval_s, one.window_s, one.stride_s) for one in found.hosts}
    assert windows == {"second:9100": (1.0, 3.0, 1.0), "usual:9100": (15.0, 45.0, 15.0)}
    assert found.problems == []


def test_cost_and_alarms_are_expected_by_hosts_and_budget(store: Server) -> None:
    found = tried(store.url, alarms_per_host_day__warning="2", alarms_per_host_day__page="0.5")
    assert found.alarms_per_day == {"warning": 4.0, "page": 1.0}
    assert found.series == 2 * series_of_a_host()
    costs = {cost.host.instance: cost for cost in found.costs}
    assert costs.keys() == {"second:9100", "usual:9100"}
    for cost in costs.values():
        assert 0 < cost.cpu_s < 10
        assert 0 < cost.read_s < 30
        assert cost.features >= 30
        assert 1e5 < cost.memory_bytes < 1e8
    assert costs["second:9100"].stride_s == 1.0


def test_series_of_a_host_are_as_many_as_the_docs_say() -> None:
    # Five subsystems and unknown twice, five shares, scores of three detectors and fused, two kinds of episodes, and
    # thirteen that there is one of.
    assert series_of_a_host() == 2 * 6 + 5 + 4 + 2 + 13
    assert f"| scores | {series_of_a_host()} series a host, " in (ROOT / "docs" / "operating.md").read_text()


def test_given_settings_are_shown_without_secrets(store: Server) -> None:
    url = store.url.replace("http://", "http://me:s3cret-one@")
    access = {"source__prometheus__access__username": "me", "source__prometheus__access__password": "s3cret-two"}
    report = tried(url, window__duration="4s", **access)
    text = as_text(report)
    assert report.problems == []
    assert "window.duration: 4s" in text
    assert "source.prometheus.access.password: <secret>" in text
    assert "s3cret" not in text + json.dumps(as_json(report))


def test_dry_run_says_hosts_windows_cost_and_alarms(store: Server) -> None:
    done = run("run", "--dry-run", f"--source.prometheus.url={store.url}", limit_s=60)
    assert done.returncode == 0, done.stderr
    for said in (
        "2 of 2 hosts at http://127.0.0.1:",
        " series found, which make ",
        "usual:9100: sampled every 15s, judged in windows of 45s, a new one every 15s",
        "of a core",
        "series published: ",
        "1 warnings and 0.1 pages a day",
    ):
        assert said in done.stdout


def test_short_baseline_of_a_rarely_scraped_host_is_noted(store: Server) -> None:
    (note,) = tried(store.url, baseline__duration="2m").notes
    assert note.startswith("baseline.duration: 2 min 0 s hold too few windows")


def test_history_that_the_store_has_not_is_noted(store: Server) -> None:
    (note,) = (note for note in tried(store.url, baseline__history="6h").notes if note.startswith("baseline.history"))
    assert note.startswith("baseline.history: of second:9100 the source has 1 min 0 s, less than 6 h 0 min; ")
    assert not any(note.startswith("baseline.history") for note in tried(store.url, baseline__history="30s").notes)


def test_each_question_of_a_running_detector_is_asked_once(store: Server) -> None:
    def passed_on(path: str, parameters: dict[str, str]) -> Answer:
        reply = requests.get(store.url + path, params=parameters, timeout=30)
        return reply.status_code, reply.content

    with Scripted(passed_on) as between:
        assert tried(between.url).problems == []
        asked = [one["query"] for one in between.asked]
    kinds = {
        "who is there": [query for query in asked if query.startswith("label_replace(")],
        "how often it is scraped": [query for query in asked if query.startswith('{__name__="node_memory_MemTotal')],
        "its samples": [query for query in asked if query.startswith('{__name__=~"node_(?:')],
        "what it is": [query for query in asked if query.startswith('{__name__=~"hostpulse_')],
    }
    assert {kind: len(queries) for kind, queries in kinds.items()} == {
        "who is there": 1,
        "how often it is scraped": 2,
        "its samples": 2,
        "what it is": 1,
    }
    assert sum(map(len, kinds.values())) == len(asked)


def test_budget_that_cannot_be_reached_at_the_interval_of_the_samples_is_noted(tmp_path: Path) -> None:
    end_s = float(int(time.time()) - 5)
    with start_victoria_metrics(tmp_path) as server:
        write(server, node_host({"job": "node", "instance": "rare:9100"}, end_s - 300.0 * np.arange(60)[::-1]))
        found = tried(server.url, alarms_per_host_day__warning="20")
        budget = [note for note in found.notes if note.startswith("alarms_per_host_day")]
        within = tried(server.url, alarms_per_host_day__warning="5")
    assert budget == [
        "alarms_per_host_day.warning: 20 a day cannot be reached where samples are so far apart; rare:9100, sampled "
        "every 5m, is held to 5.76"
    ]
    assert found.alarms_per_day == pytest.approx({"warning": 5.76, "page": 0.05})
    assert f"note: {budget[0]}\n" in as_text(found)
    assert budget[0] in as_json(found)["notes"]
    assert not any("alarms_per_host_day" in note for note in within.notes)


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("source__prometheus__job", "nope", "source.prometheus.job: there are no hosts in nope; they are in node"),
        ("state__directory", "{file}/models", "state.directory: {file}/models cannot be used"),
        ("state__directory", f"/tmp/{'x' * 256}", "state.directory: /tmp/xxx"),
        ("web__listen_address", "192.0.2.1:17721", "web.listen_address: 192.0.2.1:17721 cannot be used: Cannot assign"),
        ("web__listen_address", "a..b:17721", "web.listen_address: a..b:17721 cannot be used: 'a..b' is no name of a"),
    ],
)
def test_wrong_setting_is_named(store: Server, tmp_path: Path, flag: str, value: str, said: str) -> None:
    file = tmp_path / "file"
    file.touch()
    (problem,) = tried(store.url, **{flag: value.format(file=file)}).problems
    assert problem.startswith(said.format(file=file))


def test_store_that_does_not_answer_is_named_by_its_setting_and_ends_with_one() -> None:
    done = run("validate", "--json", "--source.prometheus.url=http://127.0.0.1:1", limit_s=60)
    assert done.returncode == 1
    assert "hostpulse-detector: source.prometheus.url: http://127.0.0.1:1/" in done.stderr
    assert len(json.loads(done.stdout)["problems"]) == 1


def test_store_that_lets_nobody_in_is_named_by_access() -> None:
    with Scripted(lambda path, parameters: (401, b"no")) as closed:
        (problem,) = tried(closed.url).problems
    assert "not let in by source.prometheus.access" in problem
