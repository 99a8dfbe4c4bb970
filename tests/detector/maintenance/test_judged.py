"""A host that somebody works on: judged, but it raises no alarm, and nothing of it is learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from detector.frame import Frame
from detector.judge import Judge
from detector.loop import Loop
from detector.maintenance.period import Matcher, Period
from detector.maintenance.register import Register
from detector.state import HostState
from detector.trainer import Judging
from detector.verdict import Phase, Verdict
from tests.detector.shell.stepped import HOST, OTHER, START_S, Bench, counting_fit, never_due, scoring_step
from tests.detector.synthetic import START_S as FRAME_START_S
from tests.detector.synthetic import fault_of, synthetic_frame
from tests.detector.watching import JUDGE, Watched, scores, watch

FAULT_S = 260.0
LEARNED_S = JUDGE.baseline_s + JUDGE.window_s
MAINTAINED = replace(JUDGE, maintained=True)


def _fault(learned: Watched, judge: Judge, until_s: float = 330.0) -> Watched:
    frame = synthetic_frame(340.0, fault_of("storage", FAULT_S, until_s))
    return watch(frame, judge, learned.state, LEARNED_S, fits=False)


def test_fault_in_maintenance_has_a_score_and_raises_no_alarm(learned: Watched) -> None:
    assert _fault(learned, JUDGE).openings_s != []
    watched = _fault(learned, MAINTAINED)
    assert np.nanmax(scores(watched)) > 1.0
    assert watched.openings_s == []
    assert watched.state.episodes == learned.state.episodes
    assert all(verdict.maintained for verdict in watched.verdicts)


def test_nothing_is_learned_in_maintenance_nor_counted_among_the_largest_levels(learned: Watched) -> None:
    watched = _fault(learned, MAINTAINED)
    assert watched.state.training is learned.state.training
    assert watched.state.pending == learned.state.pending
    assert np.array_equal(watched.state.maxima, learned.state.maxima)


def test_fault_that_outlasts_maintenance_is_alarmed_then(learned: Watched) -> None:
    frame = synthetic_frame(340.0, fault_of("storage", FAULT_S, 330.0))
    before = _cut(frame, 300.0)
    during = watch(before, MAINTAINED, learned.state, LEARNED_S, fits=False)
    after = watch(frame, JUDGE, during.state, 300.0, fits=False)
    assert during.openings_s == []
    assert [300.0 < opening_s <= 312.0 for opening_s in after.openings_s] == [True]


def test_open_episode_ends_when_maintenance_begins(learned: Watched) -> None:
    frame = synthetic_frame(340.0, fault_of("storage", FAULT_S, 330.0))
    alarmed = watch(_cut(frame, 280.0), JUDGE, learned.state, LEARNED_S, fits=False)
    maintained = watch(frame, MAINTAINED, alarmed.state, 280.0, fits=False)
    assert alarmed.verdicts[-1].active
    assert not any(verdict.active for verdict in maintained.verdicts[JUDGE.of :])


def test_first_baseline_waits_for_the_end_of_maintenance() -> None:
    watched = watch(synthetic_frame(LEARNED_S + 60.0), MAINTAINED)
    assert {verdict.phase for verdict in watched.verdicts} == {Phase.LEARNING}
    assert (watched.state.training.rows, watched.state.fits) == (0, 0)


def test_judging_in_maintenance_is_saved_and_read_as_any_other() -> None:
    assert repr(MAINTAINED) == repr(JUDGE), "what a state is named by does not depend on maintenance"


def test_loop_judges_as_maintained_who_is_in_maintenance_at_the_window() -> None:
    told: dict[str, list[tuple[float, bool]]] = {HOST.instance: [], OTHER.instance: []}

    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        told[state.instance].append((end_s - START_S, judge.maintained))
        return scoring_step(frame, state, end_s, judge)

    bench, register = Bench(hosts=(HOST, OTHER)), Register()
    register.add(Period("", (Matcher("instance", HOST.instance),), START_S + 8, START_S + 12), START_S)
    judging = Judging(step, never_due, counting_fit)
    bench.loop = Loop(
        bench.settings, bench.source, [bench.notebook], None, bench.telemetry, bench.clock, judging, register
    )
    bench.go(20)
    assert [end_s for end_s, maintained in told[HOST.instance] if maintained] == [8, 9, 10, 11]
    assert len(told[HOST.instance]) > 10
    assert not any(maintained for _, maintained in told[OTHER.instance])


def _cut(frame: Frame, until_s: float) -> Frame:
    seen = frame.times_s <= FRAME_START_S + until_s
    return Frame(frame.instance, frame.times_s[seen], frame.values[seen], frame.columns)
