"""Judging a stretch of the past, out of files and a real Prometheus, and writing scores where others read them."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import requests

from catalog import outputs
from detector.backtest import Stretch, backtest, parse_time, recorded, stored
from detector.clock import SystemClock
from detector.incidents.ask import AskError
from detector.instances import host_name
from detector.recording import RecordingError
from detector.replay import Past, ReplayError
from detector.scores import ScoreError, kind_of
from detector.service import build_source
from detector.settings import TABLE, Settings
from detector.source import SourceError
from tests.detector.shell.verdicts import judged
from tests.detector.synthetic import START_S, fault_of, synthetic_frame
from tests.detector.watching import JUDGE
from tests.dumps import as_openmetrics, make_blocks
from tests.servers import Prometheus, start_prometheus, start_victoria_metrics
from tests.tree import ROOT

DURATION_S, FAULT_S, END_S = 500.0, 430.0, 460.0
BEGIN_S = math.floor(time.time() / 60) * 60 - 3000.0
FROM_S = BEGIN_S + 400.0
SICK, QUIET = "sick:17720", "quiet:17720"


def settings(url: str = "") -> Settings:
    source = {"prometheus": {"url": url, "timeout": "30s"}} if url else {}
    return TABLE.model_validate({"baseline": {"duration": JUDGE.baseline_s}, "source": source})


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts that were scraped every second, one of which got a slow disk."""
    frames = [
        replace(
            synthetic_frame(DURATION_S, fault_of("storage", FAULT_S, END_S) if name == SICK else (), interval_s=1.0),
            instance=name,
        )
        for name in (SICK, QUIET)
    ]
    moved = [replace(frame, times_s=frame.times_s - START_S + BEGIN_S) for frame in frames]
    return as_openmetrics(moved, tmp_path_factory.mktemp("dumps") / "hosts.om")


@pytest.fixture(scope="module")
def prometheus(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that has scraped them, and no longer does."""
    folder = tmp_path_factory.mktemp("prometheus")
    make_blocks(dump, folder / "data")
    with start_prometheus(folder) as server:
        yield server


@pytest.fixture(scope="module")
def written(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What is found of the file, as JSON, and the scores in all formats."""
    folder = tmp_path_factory.mktemp("scores")
    outs = {suffix: folder / f"scores{suffix}" for suffix in (".om", ".csv", ".parquet")}
    done = run(f"--from={FROM_S}", f"--recording={dump}", "--json", *(f"--out={path}" for path in outs.values()))
    assert done.returncode == 0, done.stderr
    (folder / "found.json").write_text(done.stdout)
    return {**outs, "found": folder / "found.json"}


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "detector", "backtest", f"--baseline.duration={JUDGE.baseline_s}s", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def test_episodes_of_a_file_are_found_and_scores_told_from_when_it_was_asked(written: dict[str, Path]) -> None:
    quiet, sick = map(json.loads, written["found"].read_text().splitlines())
    assert (quiet["recording"], quiet["episodes"]) == (QUIET, [])
    (episode,) = sick["episodes"]
    assert (sick["recording"], episode["subsystem"]) == (SICK, "storage")
    assert FAULT_S <= episode["start_s"] - BEGIN_S < FAULT_S + 8
    assert (sick["from_s"], sick["judged"]) == (FROM_S, 100)
    with written[".csv"].open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["instance"] for row in rows} == {SICK, QUIET}
    assert [float(row["time_s"]) for row in rows if row["instance"] == SICK] == list(FROM_S + np.arange(1.0, 101.0))
    assert max(float(row["score"]) for row in rows if row["active"] == "True") == episode["peak"] > 1
    assert {row["subsystem"] for row in rows if row["active"] == "True"} == {"storage"}
    table = pq.read_table(written[".parquet"]).to_pylist()
    assert [row["score"] for row in table] == [float(row["score"]) for row in rows]
    assert table[0].keys() == rows[0].keys()


def test_scores_go_into_a_prometheus_as_blocks(written: dict[str, Path], tmp_path: Path) -> None:
    make_blocks(written[".om"], tmp_path / "data")
    table = pq.read_table(written[".parquet"]).to_pylist()
    with start_prometheus(tmp_path) as server:
        selector = f'{outputs.SCORE.name}{{detector="fused",instance="{SICK}"}}[1h]'
        (entry,) = server.query(selector, time=str(BEGIN_S + DURATION_S))
        active = server.query(f"{outputs.ACTIVE.name} == 1", time=str(BEGIN_S + FAULT_S + 20))
    found = {time_s: float(value) for time_s, value in entry["values"]}
    assert found == {row["time_s"]: row["score"] for row in table if row["instance"] == SICK}
    assert [one["metric"]["subsystem"] for one in active] == ["storage"]


def test_store_gives_what_the_file_gives_though_the_hosts_are_gone(prometheus: Prometheus, tmp_path: Path) -> None:
    chosen = settings(prometheus.url)
    source = build_source(chosen, SystemClock())
    assert source.hosts() == []
    stretch = Stretch(FROM_S, BEGIN_S + DURATION_S, host_name(SICK))
    out = tmp_path / "scores.parquet"
    (found,) = backtest(stored(source, chosen, stretch), chosen, stretch, [out], lambda name, done: False)
    source.close()
    assert [(one.subsystem, FAULT_S <= one.start_s - BEGIN_S < FAULT_S + 8) for one in found.episodes] == [
        ("storage", True)
    ]
    assert found.judged >= 98
    table = pq.read_table(out).to_pylist()
    assert {row["instance"] for row in table} == {SICK}


def test_past_in_victoria_metrics_is_read_to_its_end(dump: Path, tmp_path: Path) -> None:
    lines = [line.rsplit(" ", 1) for line in dump.read_text().splitlines() if not line.startswith("#")]
    body = "\n".join(f"{head} {round(float(time_s) * 1000)}" for head, time_s in lines)
    with start_victoria_metrics(tmp_path) as victoria:
        requests.post(f"{victoria.url}/api/v1/import/prometheus", data=body, timeout=30).raise_for_status()
        victoria.get("/internal/force_flush")
        source = build_source(settings(victoria.url), SystemClock())
        (host, _) = sorted(source.past_hosts(FROM_S, BEGIN_S + DURATION_S))
        frame = source.read(host, BEGIN_S + DURATION_S - 5.0, BEGIN_S + DURATION_S)
        assert source.interval_s(host) == 1.0
        source.close()
    assert list(frame.times_s - BEGIN_S) == pytest.approx([DURATION_S - back for back in (4, 3, 2, 1, 0)])


def test_nobody_at_that_time_is_an_error(prometheus: Prometheus) -> None:
    chosen = settings(prometheus.url)
    stretch = Stretch(BEGIN_S - 90_000.0, BEGIN_S - 80_000.0)
    source = build_source(chosen, SystemClock())
    with pytest.raises(ReplayError, match="nobody was there at that time"):
        list(backtest(stored(source, chosen, stretch), chosen, stretch, [], lambda name, done: False))
    exporter = build_source(settings(), SystemClock())
    with pytest.raises(SourceError, match="keeps no past: the source prometheus does, and so do recordings"):
        list(stored(exporter, settings(), stretch))


def test_host_of_which_too_little_is_there_is_passed_over(dump: Path) -> None:
    stretch = Stretch(BEGIN_S, BEGIN_S + 100.0)
    with pytest.raises(ReplayError) as raised:
        list(backtest(recorded(dump, stretch), settings(), stretch, [], lambda name, done: False))
    assert str(raised.value).count("nothing can be judged: it holds 99 s") == 2


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        ((), 2, "the following arguments are required: --from"),
        (("--from=yesterday",), 2, "backtest: --from: 'yesterday' is no time from 1970 to 9997: it may be 2027-01-15"),
        (("--from=1", "--to=nan"), 2, "backtest: --to: 'nan' is no time"),
        (("--from=now", "--to=now-1h"), 2, "--from must be before --to"),
        (("--from=now-1h", "--recording={dump}", "--out=scores.xls"), 2, "must end in one of .om, .openmetrics, .csv"),
        (("--from=1", "--to=2", "--recording={dump}"), 1, "nothing can be judged: it holds 0 s"),
        (("--from=now-1h", "--recording="), 2, "argument --recording: must not be empty"),
        (("--from=now-1h", "--recording=/nowhere"), 1, "/nowhere: No such file or directory"),
        (("--from=now-1h", "--source.prometheus.url=http://127.0.0.1:1"), 1, "127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_said_plainly(flags: tuple[str, ...], status: int, said: str, dump: Path) -> None:
    done = run(*(flag.format(dump=dump) for flag in flags))
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (status, True, False), done.stderr


def test_reader_that_has_had_enough_costs_no_scores_of_the_hosts_before(dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.om"
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "detector", "backtest", f"--baseline.duration={JUDGE.baseline_s}s"]
    flags = f"--from={FROM_S}", f"--recording={dump}", f"--out={out}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *flags], stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=120, env=environment
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
    lines = out.read_text().splitlines()
    assert lines[-1] == "# EOF"
    assert {line.partition('instance="')[2].partition('"')[0] for line in lines if line[0] != "#"} == {QUIET}


def test_findings_go_into_a_pipe_and_the_bar_onto_the_terminal(dump: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "detector", "backtest", f"--baseline.duration={JUDGE.baseline_s}s", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    flags = f"--from={FROM_S}", f"--recording={dump}"
    with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # once the other side is closed
            while part := os.read(ours, 65536):
                shown += part
        os.close(ours)
        printed = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    assert [json.loads(line)["recording"] for line in printed.splitlines()] == [QUIET, SICK]
    assert f"replaying {SICK}".encode() in shown
    assert b"episodes" not in shown


@pytest.mark.parametrize("suffix", [".om", ".csv", ".parquet"])
def test_full_disk_is_named_with_the_file(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"scores{suffix}"
    out.symlink_to("/dev/full")
    file = kind_of(out)(out)
    file.add(judged())
    with pytest.raises(ScoreError, match=rf"^--out: {out}: cannot be written: No space left on device$"):
        file.close()


@pytest.mark.parametrize("suffix", [".om", ".csv", ".parquet"])
def test_file_that_cannot_be_written_is_told_before_anything_is_judged(suffix: str, dump: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "good.csv", tmp_path / "nowhere" / f"scores{suffix}"]
    stretch = Stretch(FROM_S, END_S)
    with pytest.raises(ScoreError, match="No such file or directory"):
        list(backtest(recorded(dump, stretch), settings(), stretch, outs, lambda name, done: False))
    assert (tmp_path / "good.csv").exists()


def test_time_may_be_written_in_several_ways() -> None:
    assert parse_time("2027-01-15T09:00:00+01:00", 0.0) == parse_time("2027-01-15 08:00", 0.0) == START_S
    assert parse_time("now-1h30m", 10_000.0) == 4600.0
    for text in ("", "now-", "now-1x", "soon", "now-4h", "9" * 400, "9999-01-01", "\u0663"):
        with pytest.raises(ValueError, match="is no time from 1970 to 9997"):
            parse_time(text, 0.0)


def test_file_of_scores_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(AskError, match=r"--out: .*scores\.txt: its name must end in one of"):
        kind_of(tmp_path / "scores.txt")


def test_scores_of_before_are_kept_where_nothing_can_be_judged_at_all(tmp_path: Path) -> None:
    out, stretch = tmp_path / "scores.csv", Stretch(1.0, 2.0)
    out.write_text("of before")
    cases: list[tuple[Iterator[Past], list[Path], type[Exception]]] = [
        (recorded(tmp_path / "nowhere", stretch), [out], RecordingError),
        (iter(()), [out], ReplayError),
        (iter(()), [out, tmp_path / "scores.txt"], AskError),
    ]
    for pasts, outs, wrong in cases:
        with pytest.raises(wrong):
            list(backtest(pasts, settings(), stretch, outs, lambda name, done: False))
    assert out.read_text() == "of before"
