"""Episodes of a running detector: each is told and counted once, whatever becomes of the program meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from detector.frame import Frame
from detector.judge import Judge
from detector.sink import Judged
from detector.state import HostState
from detector.trainer import Judging
from detector.verdict import Verdict
from tests.detector.shell.stepped import (
    START_S,
    Bench,
    FrameSource,
    counting_fit,
    never_due,
    scoring_step,
    settings,
    wait_for_fit,
)
from tests.detector.synthetic import fault_of, synthetic_frame
from tests.servers import wait_until

KNOWN_S = 250.0
FAULT_S, END_S = 260.0, 285.0
LATER_S, FRAME_S = 365.0, 400.0
SECTIONS = {"baseline": {"duration": "240s"}}


def new_bench(directory: Path) -> Bench:
    """A host whose storage is slow for a while, once it is known, and its network later."""
    faults = (*fault_of("storage", FAULT_S, END_S), *fault_of("network", LATER_S, FRAME_S))
    bench = Bench(Judging(), sections=SECTIONS, directory=directory)
    bench.source = FrameSource(bench.clock, synthetic_frame(FRAME_S, faults))
    bench.new_loop()
    return bench


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a detector that has just learned the host."""
    folder = tmp_path_factory.mktemp("learned")
    bench = new_bench(folder)
    go(bench, KNOWN_S)
    bench.loop.close()
    return folder


@pytest.fixture
def bench(learned: Path, tmp_path: Path) -> Bench:
    """One that goes on from there."""
    shutil.copytree(learned, tmp_path, dirs_exist_ok=True)
    made = new_bench(tmp_path)
    made.clock.now_s = KNOWN_S
    return made


def go(bench: Bench, until_s: float) -> None:
    bench.go(until_s - bench.clock.now_s, each=lambda: wait_for_fit(bench))


def onsets_s(told: Iterable[Judged]) -> list[float]:
    """When the episodes began that were told of."""
    return sorted({one.verdict.onset_s - START_S for one in told if one.verdict.active})


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("restart_s", [275.0, 305.0])
def test_episode_is_told_and_counted_once_over_a_restart(bench: Bench, restart_s: float, crashes: bool) -> None:
    go(bench, restart_s)
    told, old = len(bench.notebook.judged), bench.loop
    saves = [watch.saving for watch in old._watches.values() if watch.saving]
    wait_until(lambda: all(save.done() for save in saves), 60, "what was begun to be saved is")
    if not crashes:
        old.close()
    bench.new_loop()
    go(bench, LATER_S)
    (onset_s,) = onsets_s(bench.notebook.judged)
    assert FAULT_S <= onset_s < FAULT_S + 3.0
    after = [one.verdict for one in bench.notebook.judged[told:]]
    assert after[0].active == (restart_s < END_S)
    assert {verdict.episodes for verdict in after} == {1}
    assert after[-1].end_s - START_S > LATER_S - 2.0


@pytest.mark.parametrize("is_new", [True, False])
def test_start_of_the_program_itself_is_no_episode(bench: Bench, is_new: bool) -> None:
    """What looks like a fault from 260 to 285 s is the program, which takes so long to start and to catch up."""
    bench.loop.close()
    bench.clock.wait(END_S - KNOWN_S)
    if is_new:
        bench.clock.started_s = FAULT_S - 1.0
    bench.new_loop()
    go(bench, LATER_S + 15.0)
    beginnings = [onset_s < LATER_S for onset_s in onsets_s(bench.notebook.judged)]
    assert beginnings == ([False] if is_new else [True, False]), "what comes later is told"


def test_open_episode_goes_on_while_the_program_starts(bench: Bench) -> None:
    go(bench, 270.0)
    bench.loop.close()
    assert bench.notebook.judged[-1].verdict.active
    told = len(bench.notebook.judged)
    bench.clock.wait(8.0)
    bench.clock.started_s = 271.0
    bench.new_loop()
    go(bench, END_S)
    assert all(one.verdict.active for one in bench.notebook.judged[told:])


@pytest.mark.parametrize("interval", ["5s", "1h"])  # the save before was of the open episode, or of the time before it
def test_episode_is_counted_once_though_the_newest_save_is_damaged(bench: Bench, tmp_path: Path, interval: str) -> None:
    bench.sections = SECTIONS | {"state": {"interval": interval}}
    bench.new_loop()
    go(bench, 280.0)
    (watch,) = bench.loop._watches.values()
    told = len(bench.notebook.judged)
    assert bench.notebook.judged[-1].verdict.active
    wait_until(lambda: watch.saving is None or watch.saving.done(), 60, "what was begun to be saved is")
    newest = max(tmp_path.glob("*.npz"))
    os.truncate(newest, 1000)
    bench.new_loop()
    go(bench, LATER_S)
    after = [one.verdict for one in bench.notebook.judged[told:]]
    assert newest.with_name(f"{newest.name}.bad").exists()
    assert any(verdict.active for verdict in after), "it goes on"
    assert len(onsets_s(bench.notebook.judged)) == 1
    assert len({verdict.episodes for verdict in after}) == 1, "a counter that was set back and does not rise"


@pytest.mark.parametrize("restarts", [False, True])
def test_past_that_is_judged_anew_in_other_windows_tells_no_episode_again(bench: Bench, restarts: bool) -> None:
    go(bench, 305.0)
    (onset_s,) = onsets_s(bench.notebook.judged)
    told = len(bench.notebook.judged)
    bench.sections = SECTIONS | {"window": {"duration": "5s"}}
    if restarts:
        bench.loop.close()
        bench.new_loop()
    else:
        bench.loop.reconfigure(settings(**bench.sections), bench.source, bench.store)
    go(bench, LATER_S + 15.0)
    after = bench.notebook.judged[told:]
    (watch,) = bench.loop._watches.values()
    assert {one.window_s for one in after} == {5.0}
    assert [closed.subsystem for closed in watch.state.closed] == ["storage"], "it was found once more"
    assert after[0].verdict.end_s - START_S < onset_s
    assert [LATER_S <= each_s < LATER_S + 5.0 for each_s in onsets_s(after)] == [True], "what comes now is told"
    assert after[-1].verdict.episodes == 1


def test_restart_while_the_past_is_judged_anew_tells_no_episode_again(bench: Bench) -> None:
    go(bench, 305.0)
    bench.sections = SECTIONS | {"window": {"duration": "5s"}}
    bench.loop.close()
    bench.new_loop()

    def part_of_the_way() -> bool:
        bench.go(1e-3)
        return bench.notebook.ends_s()[-1] < FAULT_S

    wait_until(part_of_the_way, 60, "some of the past is judged anew")
    bench.loop.close()
    told = len(bench.notebook.judged)
    bench.new_loop()
    go(bench, LATER_S)
    after = bench.notebook.judged[told:]
    (watch,) = bench.loop._watches.values()
    assert [closed.subsystem for closed in watch.state.closed] == ["storage"], "it was found once more"
    assert onsets_s(after) == []
    assert after[-1].verdict.episodes == 0


def test_what_comes_after_the_clock_was_set_back_is_news() -> None:
    again: dict[float, bool] = {}

    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        again[end_s - START_S] = judge.again
        return scoring_step(frame, state, end_s, judge)

    bench = Bench(Judging(step, never_due, counting_fit))
    bench.go(10.0)
    bench.source.shift_s, bench.source.began_s = -3600.0, START_S - 5000.0
    bench.go(10.0)
    assert not any(again[end_s] for end_s in again if end_s > 0)
    back_s = [end_s for end_s in sorted(again) if end_s < 0]
    assert (again[back_s[0]], again[back_s[-1]]) == (True, False)
    assert len(back_s) > 300
