"""The keeper: what changes while a host is being saved is not lost."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from detector.episode import Episode
from detector.frame import Frame
from detector.judge import Judge
from detector.state import HostState
from detector.store import Store
from detector.trainer import Judging
from detector.verdict import Verdict
from detector.watch import config_hash, judge_for
from tests.detector.shell.stepped import HOST, START_S, Bench, counting_fit, never_due, scoring_step
from tests.servers import wait_until


@pytest.mark.parametrize("leaves", [False, True])
def test_what_opens_while_a_host_is_being_saved_is_saved_next(tmp_path: Path, leaves: bool) -> None:
    let_go = threading.Event()

    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        state, verdict = scoring_step(frame, state, end_s, judge)
        return replace(state, episode=Episode(open=end_s - START_S >= 15)), verdict

    def opening_is_saved() -> bool:
        bench.loop.round()
        saved = store.load(HOST, config_hash(judge_for(bench.settings, 0.1)), HostState.from_arrays)
        return saved is not None and saved.state.episode.open

    bench = Bench(Judging(step, never_due, counting_fit), sections={"state": {"interval": "10s"}}, directory=tmp_path)
    store = Store(tmp_path, 3)
    bench.loop._keeper._thread.submit(let_go.wait, 60)  # as a slow disk does
    bench.go(16)
    bench.source.present = () if leaves else (HOST,)
    bench.go(1.5)
    assert list(tmp_path.glob("*.npz")) == []
    let_go.set()
    wait_until(opening_is_saved, 60, "the opening is on disk")
    assert bench.clock.now_s < 20, "an interval after the first save was begun it would be anyway"


def test_host_whose_windows_changed_is_not_saved_before_it_is_judged_in_them(tmp_path: Path) -> None:
    bench = Bench(Judging(scoring_step, never_due, counting_fit), directory=tmp_path)
    bench.go(16)
    watch = bench.loop._watches[HOST]
    watch.next_number = 0
    bench.loop.close()
    assert list(tmp_path.glob("*.npz")) == []
    assert not watch.save_again
