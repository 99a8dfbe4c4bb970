"""Replaying a recording: the verdicts of the pipeline, its episodes, and what is printed of them."""

from __future__ import annotations

import json
import math
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from detector.findings import as_text
from detector.recording import open_recording
from detector.replay import Findings, ReplayError, judge_of_past, replay
from detector.settings import TABLE, Settings
from detector.verdict import Cause, Phase, Verdict
from detector.watch import judge_for
from tests.detector.synthetic import START_S, fault_of, synthetic_frame, without
from tests.detector.watching import JUDGE
from tests.recordings import as_answer, as_folder, segments_of
from tests.tree import ROOT

FAULT_S, END_S = 260.0, 290.0
BASELINE = f"{JUDGE.baseline_s:g}s"
LIMIT_S = 120.0


def settings() -> Settings:
    return TABLE.model_validate({"baseline": {"duration": BASELINE}})


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a host whose storage gets slow once it is known."""
    frame = synthetic_frame(330.0, fault_of("storage", FAULT_S, END_S))
    return as_folder([segments_of(frame)], tmp_path_factory.mktemp("recordings") / "sick")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "detector", "replay", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)


def test_episode_is_found_with_its_time_subsystem_and_causes(sick: Path) -> None:
    seen: list[float] = []

    def progress(done: float) -> bool:
        seen.append(done)
        return False

    found = replay(open_recording(sick), settings(), progress)
    (episode,) = found.episodes
    assert FAULT_S <= episode.start_s - START_S < FAULT_S + 5
    assert END_S < episode.end_s - START_S < END_S + 20
    assert (episode.subsystem, episode.page) == ("storage", False)
    assert episode.peak > 1
    assert any(cause.subsystem == "storage" for cause in episode.causes)
    assert (found.windows, found.judged) == (327, found.judged)
    assert 80 <= found.judged <= 90
    assert found.alarms_per_day == pytest.approx(86400 / found.judged)
    assert seen == sorted(seen)


def test_command_prints_the_same_of_a_folder_and_of_an_answer(sick: Path, tmp_path: Path) -> None:
    frame = synthetic_frame(330.0, fault_of("storage", FAULT_S, END_S))
    answer = as_answer(segments_of(frame), tmp_path / "answer")
    texts = [run(f"--from={path}", f"--baseline.duration={BASELINE}", "--json") for path in (sick, answer)]
    assert [text.returncode for text in texts] == [0, 0], texts[0].stderr + texts[1].stderr
    folder, other = (json.loads(text.stdout) for text in texts)
    assert (folder.pop("recording"), other.pop("recording")) == ("sick", "node1")
    assert folder == other
    assert (folder["window_s"], folder["stride_s"], len(folder["episodes"])) == (3.0, 1.0, 1)
    assert folder["episodes"][0]["causes"][0]["channel"]


def test_bar_is_drawn_on_a_terminal_only(sick: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "detector", "replay", f"--from={sick}", f"--baseline.duration={BASELINE}"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "COLUMNS": "100",
        "PYTHONIOENCODING": "ascii",
    }
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # the other side is closed
        finally:
            os.close(ours)
        printed = process.communicate(timeout=LIMIT_S)[0]
    assert process.returncode == 0
    assert "replaying" in shown.decode(errors="replace")
    assert "1 episode, 0 worth a page, in 1 min" in printed
    assert "\x1b" not in printed
    assert re.search(r"usually .+, \+[\d.]+ z", printed)  # in place of a sigma, which ASCII lacks


def test_windows_of_a_past_keep_their_length_and_no_fit_asks_for_another() -> None:
    given = TABLE.model_validate({"window": {"adaptive_limit": 4}})
    assert judge_for(given, 0.1).window_bounds_s == (3.0, 12.0)
    assert judge_of_past(given, 0.1) == judge_for(TABLE(), 0.1)


def test_outage_in_a_recording_is_not_judged_and_no_anomaly(tmp_path: Path) -> None:
    frame = without(synthetic_frame(400.0), 260.0, 350.0)
    found = replay(open_recording(as_folder([segments_of(frame)], tmp_path)), settings(), lambda _: False)
    assert found.windows == 397
    assert 30 < found.judged < 90
    assert found.episodes == []


def test_recording_that_is_mostly_a_gap_is_not_said_to_be_quiet(tmp_path: Path) -> None:
    frame = without(synthetic_frame(300.0), 30.0, 299.0)
    with pytest.raises(ReplayError, match="too few of its windows have samples"):
        replay(open_recording(as_folder([segments_of(frame)], tmp_path)), settings(), lambda _: False)


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (
            ("--from={sick}",),
            1,
            "sick: nothing can be judged: it holds 330 s, and 600 s (--baseline.duration) are needed",
        ),
        (("--from={sick}/none",), 1, "none: No such file or directory"),
        ((), 2, "the following arguments are required: --from"),
        (("--from={sick}", "--windw.duration=3s"), 2, "did you mean --window.duration?"),
    ],
)
def test_what_cannot_be_replayed_is_said_plainly(flags: tuple[str, ...], status: int, said: str, sick: Path) -> None:
    done = run(*(flag.format(sick=sick) for flag in flags))
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_replay_stops_when_it_is_told_to(sick: Path) -> None:
    with pytest.raises(ReplayError, match="stopped after 0 of 327 windows"):
        replay(open_recording(sick), settings(), lambda _: True)


QUIET = Verdict("a", 0.0, Phase.CALIBRATED, score=0.5)
CAUSE = Cause("storage_busy_ratio", "mean", "storage", "ratio", 0.01, 0.9, 12.34)


def _sick(end_s: float, score: float, onset_s: float, *, page: bool = False) -> Verdict:
    active = replace(QUIET, active=True, subsystem="storage", causes=(CAUSE,) * 5)
    return replace(active, end_s=end_s, score=score, onset_s=onset_s, page=page)


def test_resumed_episode_is_one_and_keeps_its_highest_score() -> None:
    found = Findings("host", (0.0, 100.0), 3.0, 1.0)
    quiet = [replace(QUIET, end_s=end_s) for end_s in (4.0, 7.0)]
    verdicts = [_sick(3.0, 2.0, 1.0), quiet[0], _sick(6.0, 3.0, 1.0, page=True), quiet[1], _sick(90.0, math.nan, 80.0)]
    for verdict in verdicts:
        found.add(verdict)
    first, second = found.episodes
    assert (first.start_s, first.end_s, first.peak, first.page, len(first.causes)) == (1.0, 7.0, 3.0, True, 3)
    assert (second.start_s, math.isnan(second.end_s), second.peak) == (80.0, True, 0.0)
    assert (found.windows, found.judged) == (5, 4)


def test_text_names_what_led_an_episode() -> None:
    found = Findings("host", (START_S, START_S + 3600.0), 3.0, 1.0)
    found.add(_sick(START_S + 3.0, 2.0, START_S + 1.0, page=True))
    assert as_text(found).splitlines() == [
        "host: 2027-01-15 08:00:00 to 2027-01-15 09:00:00 UTC",
        "",
        "began (UTC)          lasted         peak  blamed on  first causes",
        "2027-01-15 08:00:01  to the end     2.00  storage    storage_busy_ratio (mean) 90 %, usually 1 %, +12.3 σ",
        *[" " * 53 + "storage_busy_ratio (mean) 90 %, usually 1 %, +12.3 σ"] * 2,
        "",
        "1 episode, 1 worth a page, in 1 s judged of 1 h 0 min",
    ]


def test_rate_is_told_of_an_hour_and_no_less() -> None:
    found = Findings("host", (START_S, START_S + 7200.0), 3.0, 60.0)
    for number in range(59):
        found.add(_sick(START_S + 60.0 * number, 2.0, START_S))
    assert as_text(found).endswith("in 59 min 0 s judged of 2 h 0 min\n")
    found.add(_sick(START_S + 3600.0, 2.0, START_S))
    assert as_text(found).endswith("in 1 h 0 min judged of 2 h 0 min: 24 a day\n")
