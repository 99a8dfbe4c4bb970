"""Windows that follow a host: when the loop goes over to other ones, and what survives a restart."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from catalog.families import cpu
from detector.episode import Episode
from detector.frame import Frame
from detector.judge import Judge
from detector.state import HostState
from detector.trainer import Judging
from detector.verdict import Phase
from tests.detector.shell.stepped import (
    START_S,
    Bench,
    FrameSource,
    counting_fit,
    never_due,
    scoring_step,
    wait_for_fit,
)
from tests.detector.synthetic import Fault, synthetic_frame

ADAPTIVE = {"window": {"adaptive_limit": 4}}


def slowly_changing() -> Frame:
    """A host whose load rises and falls within a minute."""
    load = [Fault(cpu.SECONDS(number, "user"), lambda t: 0.3 + 0.3 * np.sin(2 * np.pi * t / 60.0)) for number in (0, 1)]
    return synthetic_frame(330.0, load)


def test_slow_host_is_judged_in_longer_windows_learned_from_its_past() -> None:
    bench = Bench(Judging(), sections=ADAPTIVE | {"baseline": {"duration": "60s"}})
    bench.source = FrameSource(bench.clock, slowly_changing())
    bench.new_loop()
    bench.go(300, each=lambda: wait_for_fit(bench))
    (watch,) = bench.loop._watches.values()
    assert watch.judge is not None
    assert 6.0 < watch.judge.window_s <= 12.0
    wide = [one for one in bench.notebook.judged if one.window_s > 3.0]
    narrow = [one for one in bench.notebook.judged if one.window_s == 3.0]
    assert wide[0].verdict.end_s < narrow[-1].verdict.end_s
    assert wide[-1].verdict.phase is Phase.PROVISIONAL
    assert watch.state.rebaselines == 1


def slow_host(*at_s: float) -> Judging:
    """Fits at these times ask for windows of seven seconds."""

    def fit(state: HostState, judge: Judge) -> HostState:
        fitted = counting_fit(state, judge)
        return replace(fitted, window_s=judge.window_s, wanted_s=(*state.wanted_s, 7.0)[-2:])

    return Judging(scoring_step, lambda state, end_s, _: end_s - START_S in at_s, fit)


def test_windows_follow_a_host_once_two_fits_ask_for_it_and_it_is_learned_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "detector")
    bench = Bench(slow_host(10, 20), sections=ADAPTIVE)
    bench.go(40, each=lambda: wait_for_fit(bench))
    judged = bench.notebook.judged
    assert {one.window_s for one in judged if one.verdict.end_s - START_S < 20} == {3.0}
    wide = [one for one in judged if one.window_s == 7.0]
    assert [one.stride_s for one in wide] == [1.0] * len(wide)
    assert len(wide) > 10
    assert wide[0].verdict.phase is Phase.LEARNING
    assert "its windows were 3 s long and are now 7 s" in caplog.text
    (watch,) = bench.loop._watches.values()
    assert watch.state.rebaselines == 1


def test_window_is_kept_while_an_episode_is_open() -> None:
    bench = Bench(slow_host(10, 20), sections=ADAPTIVE)
    bench.go(15, each=lambda: wait_for_fit(bench))
    (watch,) = bench.loop._watches.values()
    watch.state = replace(watch.state, episode=Episode(open=True))
    bench.go(25, each=lambda: wait_for_fit(bench))
    assert watch.state.wanted_s == (7.0, 7.0)
    assert {one.window_s for one in bench.notebook.judged} == {3.0}


def test_host_goes_on_in_the_windows_that_it_came_to_after_a_restart(tmp_path: Path) -> None:
    bench = Bench(slow_host(10, 20, 35), sections=ADAPTIVE, directory=tmp_path)
    bench.go(40, each=lambda: wait_for_fit(bench))
    last_s = bench.notebook.ends_s()[-1]
    bench.loop.close()
    bench.clock.wait(7)
    bench.judging = Judging(scoring_step, never_due, counting_fit)
    bench.new_loop()
    bench.go(10)
    after = [one for one in bench.notebook.judged if one.verdict.end_s - START_S > last_s]
    assert {one.window_s for one in after} == {7.0}
    assert after[0].verdict.end_s - START_S == last_s + 1
    assert {one.verdict.phase for one in after} == {Phase.PROVISIONAL}
