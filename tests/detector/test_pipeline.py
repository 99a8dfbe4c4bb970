"""A host from its first window on: it learns, stays quiet while healthy, and says what is wrong when it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from catalog.signal import JUDGED_SUBSYSTEMS
from detector.features import Features
from detector.frame import Frame
from detector.fusion import Smoothing
from detector.judge import Judge
from detector.learning import due, fit
from detector.pipeline import disturbed, features_at, step
from detector.state import HostState
from detector.training import FULL_ROWS, MOST_ROWS, Training
from detector.verdict import Phase
from tests.detector.synthetic import FAULTY, INSTANCE, START_S, fault_of, synthetic_frame
from tests.detector.watching import JUDGE, Watched, scores, watch, windows

FAULT_S = 260.0
LEARNED_S = JUDGE.baseline_s + JUDGE.window_s


def _with_fault(learned: Watched, subsystem: str, until_s: float = 290.0, duration_s: float = 300.0) -> Watched:
    frame = synthetic_frame(duration_s, fault_of(subsystem, FAULT_S, until_s))
    return watch(frame, state=learned.state, after_s=LEARNED_S, fits=False)


@pytest.fixture(scope="module")
def long_fault(learned: Watched) -> Watched:
    """A fault of 40 s and the two minutes after it."""
    return _with_fault(learned, "storage", 300.0, 420.0)


def test_host_learns_until_its_baseline_is_full(learned: Watched) -> None:
    assert {verdict.phase for verdict in learned.verdicts} == {Phase.LEARNING}
    progress = [verdict.progress for verdict in learned.verdicts]
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0.0, 1.0)
    for share in (0.05, 0.5, 0.9):
        assert progress[round(share * JUDGE.baseline_s)] == pytest.approx(share, abs=0.01)
    assert np.isnan(scores(learned)).all()
    assert learned.state.fits == 1


def test_what_was_counted_is_told_while_a_host_is_learned_anew(learned: Watched) -> None:
    state = replace(learned.state, episodes=3, pages=1).in_windows_of(6.0)
    (verdict,) = watch(synthetic_frame(LEARNED_S + 1.0), replace(JUDGE, window_s=6.0), state, LEARNED_S).verdicts
    assert verdict.phase is Phase.LEARNING
    assert (verdict.episodes, verdict.pages, verdict.rebaselines) == (3, 1, 1)


def test_first_model_is_provisional_and_never_pages(learned: Watched) -> None:
    watched = _with_fault(learned, "memory")
    assert {verdict.phase for verdict in watched.verdicts} == {Phase.PROVISIONAL}
    assert any(verdict.active for verdict in watched.verdicts)
    assert not any(verdict.page for verdict in watched.verdicts)


@pytest.mark.parametrize("seed", [1, 5])
def test_healthy_host_raises_no_alarm_in_twenty_minutes(seed: int) -> None:
    watched = watch(synthetic_frame(LEARNED_S + 1200.0, seed=seed))
    assert watched.openings_s == []
    assert watched.state.fits > 1
    assert np.nanmedian(scores(watched)) < 0.5


@pytest.mark.parametrize("subsystem", FAULTY)
def test_fault_is_active_within_ten_seconds_and_blamed_on_its_subsystem(learned: Watched, subsystem: str) -> None:
    watched = _with_fault(learned, subsystem)
    assert [FAULT_S < opening_s <= FAULT_S + 10 for opening_s in watched.openings_s] == [True]
    active = [verdict for verdict in watched.verdicts if verdict.active]
    assert {verdict.subsystem for verdict in active} == {subsystem}
    for verdict in active[:20]:
        assert max(verdict.shares, key=lambda name: verdict.shares[name]) == subsystem
        assert verdict.causes[0].subsystem == subsystem
        assert verdict.agreement >= 2
        assert 0.0 < verdict.p_value < 0.01


def test_verdict_is_complete_and_sound(long_fault: Watched) -> None:
    for verdict in long_fault.verdicts:
        assert verdict.instance == INSTANCE
        assert set(verdict.detectors) >= {"deviation", "subspace", "forest"}
        assert tuple(verdict.shares) == JUDGED_SUBSYSTEMS
        assert np.isclose(sum(verdict.shares.values()), 1.0)
        assert 0.0 <= verdict.score <= 10.0
        assert verdict.coverage == 1.0
        assert verdict.active == (verdict.subsystem != "") == (not np.isnan(verdict.onset_s))


def test_onset_is_when_the_fault_began(long_fault: Watched) -> None:
    onsets = {verdict.onset_s - START_S for verdict in long_fault.verdicts if verdict.active}
    assert len(onsets) == 1
    assert FAULT_S <= onsets.pop() <= FAULT_S + JUDGE.window_s


def test_cause_says_typical_and_actual_in_its_unit(long_fault: Watched) -> None:
    causes = long_fault.between(275.0, 276.0)[0].causes
    pressure = next(cause for cause in causes if cause.channel == "storage_pressure_ratio")
    assert pressure.unit == "ratio"
    assert pressure.typical < 0.1 < 0.4 < pressure.actual < 0.7
    assert pressure.deviation > 5.0


def test_episode_ends_after_the_fault(long_fault: Watched) -> None:
    assert all(verdict.active for verdict in long_fault.between(270.0, 300.0))
    assert not any(verdict.active for verdict in long_fault.between(315.0, 420.0))


def test_fault_that_comes_again_within_a_minute_is_one_episode(learned: Watched) -> None:
    faults = (*fault_of("storage", FAULT_S, 280.0), *fault_of("storage", 320.0, 340.0))
    watched = watch(synthetic_frame(360.0, faults), state=learned.state, after_s=LEARNED_S, fits=False)
    assert len(watched.openings_s) == 2
    assert {verdict.subsystem for verdict in watched.verdicts if verdict.active} == {"storage"}
    assert len({verdict.onset_s for verdict in watched.verdicts if verdict.active}) == 1
    assert watched.state.episodes == 1


@pytest.mark.parametrize("again_s", [296.0, 320.0])
def test_fault_of_another_subsystem_is_an_episode_of_its_own_however_soon_it_comes(
    learned: Watched, again_s: float
) -> None:
    faults = (*fault_of("storage", FAULT_S, 280.0), *fault_of("memory", again_s, again_s + 20.0))
    watched = watch(synthetic_frame(440.0, faults), state=learned.state, after_s=LEARNED_S, fits=False)
    first, second = watched.openings
    assert (first.subsystem, second.subsystem, watched.state.episodes) == ("storage", "memory", 2)
    assert second.onset_s - START_S >= again_s
    assert {verdict.subsystem for verdict in watched.verdicts if verdict.onset_s == second.onset_s} == {"memory"}
    earlier, later = watched.state.closed
    assert (earlier.subsystem, later.subsystem) == ("storage", "memory")
    assert earlier.shape @ later.shape < 0.5, "each is shown by what moved in it"
    assert watched.state.model is not None
    assert np.sum(watched.state.maxima > watched.state.model.fused.bound) == 2


def test_fault_long_after_another_is_an_episode_of_its_own(learned: Watched) -> None:
    faults = (*fault_of("storage", FAULT_S, 280.0), *fault_of("memory", 380.0, 400.0))
    watched = watch(synthetic_frame(410.0, faults), state=learned.state, after_s=LEARNED_S, fits=False)
    active = [verdict for verdict in watched.verdicts if verdict.active]
    assert [verdict.subsystem for verdict in (active[0], active[-1])] == ["storage", "memory"]
    assert active[-1].onset_s - START_S >= 380.0


def test_calibrated_host_pages_for_a_severe_fault(learned: Watched) -> None:
    model = learned.state.model
    assert model is not None
    fused = replace(model.fused, provisional=False, page_bound=2.0 * model.fused.bound)
    state = replace(learned.state, model=replace(model, calibrations=model.calibrations | {"fused": fused}))
    watched = watch(
        synthetic_frame(300.0, fault_of("network", FAULT_S, 290.0)), state=state, after_s=LEARNED_S, fits=False
    )
    assert {verdict.phase for verdict in watched.verdicts} == {Phase.CALIBRATED}
    assert any(verdict.page for verdict in watched.verdicts)
    assert all(verdict.active for verdict in watched.verdicts if verdict.page)
    assert (watched.verdicts[-1].episodes, watched.verdicts[-1].pages) == (1, 1)


def test_streaming_gives_the_features_of_the_whole_frame(learned: Watched) -> None:
    frame = synthetic_frame(300.0, fault_of("cpu", FAULT_S, 290.0))
    batch = watch(frame, state=learned.state, after_s=LEARNED_S, fits=False)
    state = learned.state
    for expected in batch.between(LEARNED_S, 290.0):
        seen = (frame.times_s > expected.end_s - JUDGE.lookback_s) & (frame.times_s <= expected.end_s)
        part = Frame(frame.instance, frame.times_s[seen], frame.values[seen], frame.columns)
        state, verdict = step(part, state, expected.end_s, JUDGE)
        assert np.isclose(verdict.score, expected.score, rtol=1e-9)
        assert (verdict.active, verdict.subsystem) == (expected.active, expected.subsystem)


def test_features_of_one_window_are_those_among_many() -> None:
    frame = synthetic_frame(60.0)
    ends_s = START_S + np.arange(45.0, 61.0)
    together = features_at(frame, ends_s, JUDGE).x
    alone = np.concatenate([features_at(frame, ends_s[n : n + 1], JUDGE).x for n in range(len(ends_s))])
    assert np.allclose(together, alone, rtol=1e-9, atol=1e-12, equal_nan=True)


def test_replicas_that_saw_the_same_windows_judge_the_same(learned: Watched) -> None:
    other = watch(synthetic_frame(LEARNED_S))
    frame = synthetic_frame(280.0, fault_of("cpu", FAULT_S, 290.0))
    pair = [watch(frame, state=one.state, after_s=LEARNED_S, fits=False) for one in (learned, other)]
    assert np.array_equal(scores(pair[0]), scores(pair[1]))


def test_fit_is_due_at_each_doubling_and_not_in_an_episode(learned: Watched) -> None:
    soon_s, later_s = START_S + LEARNED_S + 1, START_S + LEARNED_S + JUDGE.refit_s
    doubled = replace(learned.state, training=_doubled(learned.state.training))
    assert [due(learned.state, at_s, JUDGE) for at_s in (soon_s, later_s)] == [False, True]
    assert due(doubled, soon_s, JUDGE)
    assert not due(replace(doubled, episode=replace(doubled.episode, open=True)), later_s, JUDGE)
    assert not due(HostState.new(INSTANCE), later_s, JUDGE)


def _doubled(training: Training) -> Training:
    ends_s, x, names = training.table()
    for end_s, row in zip(ends_s + len(ends_s), x.astype(np.float32), strict=True):
        training = training.add(end_s, row, names, JUDGE.stride_s)
    return training


def test_full_memory_with_blocks_cut_short_keeps_the_minutes_it_is_calibrated_on(learned: Watched) -> None:
    training = _doubled(_doubled(learned.state.training))
    assert FULL_ROWS <= training.rows < MOST_ROWS
    state = fit(replace(learned.state, training=training), JUDGE)
    minutes = replace(state, maxima=np.linspace(0.1, 0.9, 600))
    refitted = fit(minutes, JUDGE)
    assert state.maxima.size == 0
    assert refitted.maxima.size == 600
    assert refitted.model is not None
    assert not refitted.model.fused.provisional


def test_each_window_is_judged_once_and_in_order(learned: Watched) -> None:
    frame = synthetic_frame(250.0)
    with pytest.raises(AssertionError, match="judged once"):
        step(frame, learned.state, START_S + LEARNED_S, JUDGE)
    with pytest.raises(AssertionError, match="frame of other for the state of"):
        step(replace(frame, instance="other"), learned.state, START_S + 250.0, JUDGE)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"stride_s": 4.0}, "stride lies between"),
        ({"stride_s": 0.0}, "stride lies between"),
        ({"votes": 11}, "votes lie between"),
        ({"page_per_day": 1.0}, "page is rarer"),
        ({"window_s": 600.0}, "overlap too much"),
    ],
)
def test_judge_refuses_settings_that_make_no_sense(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        replace(Judge(), **changes)


def test_sampling_every_fifteen_seconds_is_enough_for_wide_windows() -> None:
    judge_by = Judge(window_s=45.0, stride_s=15.0, baseline_s=1800.0)
    frame = synthetic_frame(2700.0, fault_of("memory", 2250.0, 2700.0), interval_s=15.0)
    watched = watch(frame, judge_by)
    assert watched.state.fits >= 1
    assert all(2250.0 < opening_s <= 2250.0 + 10 * 15.0 for opening_s in watched.openings_s)
    assert len(watched.openings_s) == 1
    assert watched.verdicts[-1].subsystem == "memory"
    assert {cause.statistic for cause in watched.verdicts[-1].causes} <= {"mean", "change"}


def test_largest_levels_are_kept_however_rarely_a_host_is_sampled() -> None:
    judge_by = Judge(window_s=900.0, stride_s=300.0, baseline_s=15_000.0, refit_s=1e6)
    state = watch(synthetic_frame(33_000.0, interval_s=300.0), judge_by).state
    periods = (state.last_end_s - state.fitted_s) / judge_by.maxima_period_s
    assert periods > 5
    assert periods - 2 <= len(state.maxima) <= periods


def test_long_windows_wait_for_enough_that_do_not_overlap() -> None:
    judge_by = Judge(window_s=20.0, stride_s=1.0, baseline_s=60.0)
    watched = watch(synthetic_frame(200.0), judge_by)
    assert watched.between(100.0, 101.0)[0].progress < 1.0
    assert watched.state.fits == 1
    assert np.isfinite(scores(watched)[-1])


def test_window_without_channels_is_not_judged(learned: Watched) -> None:
    nothing = Frame(INSTANCE, START_S + 243.0 + np.arange(1.0, 11.0) / 10, np.empty((10, 0)), ())
    state, verdict = step(nothing, learned.state, START_S + 244.0, JUDGE)
    assert np.isnan(verdict.score)
    assert state.training == learned.state.training


def test_judging_does_not_change_what_it_is_given(learned: Watched) -> None:
    window = next(windows(synthetic_frame(250.0), JUDGE, LEARNED_S))
    before = window.x.copy()
    scored = learned.state.scores
    watch(synthetic_frame(250.0), state=learned.state, after_s=LEARNED_S, fits=False)
    assert np.array_equal(window.x, before, equal_nan=True)
    assert learned.state.scores == scored
    assert isinstance(window, Features)


def test_beginning_of_the_first_baseline_is_not_learned() -> None:
    watched = watch(synthetic_frame(30.0), fits=False)
    began_s = watched.verdicts[0].end_s
    assert JUDGE.settling_s > 1.0
    assert watched.state.training.filling[0][0] == pytest.approx(began_s + np.ceil(JUDGE.settling_s))


def test_windows_that_show_a_fit_are_not_judged(learned: Watched) -> None:
    last_s = learned.verdicts[-1].end_s
    state = disturbed(learned.state, 2.0, last_s, JUDGE)
    watched = watch(synthetic_frame(LEARNED_S + 20.0), state=state, after_s=LEARNED_S, fits=False)
    judged = [verdict.end_s > last_s + JUDGE.window_s + JUDGE.stride_s for verdict in watched.verdicts]
    assert [not np.isnan(score) for score in scores(watched)] == judged
    assert {verdict.phase for verdict in watched.verdicts} == {Phase.PROVISIONAL}
    assert {verdict.coverage for verdict in watched.verdicts} == {1.0}, "nothing is missing of them"


def test_what_came_with_the_onset_and_went_is_not_blamed(learned: Watched) -> None:
    """A fault of the network that lasts, begun by a second of reading from storage."""
    passing = fault_of("storage", FAULT_S, FAULT_S + 1.0)
    frame = synthetic_frame(290.0, (*passing, *fault_of("network", FAULT_S, 290.0)))
    watched = watch(frame, state=learned.state, after_s=LEARNED_S, fits=False)
    assert next(v.subsystem for v in watched.verdicts if v.active) == "network"


@pytest.mark.parametrize("median", [False, True])
def test_score_is_smoothed_over_as_many_windows_as_asked(learned: Watched, median: bool) -> None:
    judge_by = replace(JUDGE, smoothing=Smoothing(10, median))
    state = fit(learned.state, judge_by)
    frame = synthetic_frame(300.0, fault_of("storage", FAULT_S, 300.0))
    watched = watch(frame, judge_by, state, LEARNED_S, fits=False)
    at_once = _with_fault(learned, "storage", 300.0)
    assert len(watched.openings_s) == 1
    assert watched.openings_s[0] > at_once.openings_s[0]
    assert len(watched.state.normalised) == 10
