"""What becomes of an episode: it is not learned, it counts, and what comes again and again is usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from detector.calibration import MARGIN
from detector.judge import DAY_S, Judge
from detector.learning import due, fit, window_wanted_s
from detector.peers import PeerState
from detector.pipeline import disturbed, judge_window
from detector.recurrence import USUAL_FROM
from tests.detector.synthetic import START_S, Fault, fault_of, synthetic_frame
from tests.detector.watching import JUDGE, Watched, watch, windows

FAULT_S = 260.0
LEARNED_S = JUDGE.baseline_s + JUDGE.window_s
AGAIN_S, LASTS_S = 120.0, 20.0


@pytest.fixture(scope="module")
def learned() -> Watched:
    """A host whose first baseline is over."""
    return watch(synthetic_frame(LEARNED_S))


def _again(learned: Watched, times: int) -> Watched:
    """A host on which the same came so many times."""
    return _in_turn(learned, ["memory"] * times)


def _in_turn(learned: Watched, faults: Sequence[str], parts: Sequence[slice] = ()) -> Watched:
    """A host that had these faults, two minutes apart, or of each only those parts."""
    whole = [slice(None)] * len(faults)
    placed: list[Fault] = []
    for number, (subsystem, part) in enumerate(zip(faults, parts or whole, strict=True)):
        start_s = FAULT_S + number * AGAIN_S
        placed += fault_of(subsystem, start_s, start_s + LASTS_S)[part]
    frame = synthetic_frame(FAULT_S + len(faults) * AGAIN_S - 5.0, placed)
    return watch(frame, replace(JUDGE, refit_s=30.0), learned.state, LEARNED_S)


def _learned_in(watched: Watched, start_s: float, end_s: float) -> int:
    ends_s = watched.state.training.table()[0] - START_S
    return int(((ends_s > start_s) & (ends_s <= end_s)).sum())


def test_fit_notes_which_windows_a_host_asks_for_where_they_are_adaptive(learned: Watched) -> None:
    judge_by = replace(JUDGE, window_bounds_s=(3.0, 12.0))
    once = fit(learned.state, judge_by)
    assert once.model is not None
    ends_s, x, _ = learned.state.training.table()
    (wanted_s,) = once.wanted_s
    assert wanted_s == window_wanted_s(once.model, ends_s, x, judge_by)
    assert 3.0 <= wanted_s <= 12.0
    assert (once.window_s, fit(fit(once, judge_by), judge_by).wanted_s) == (3.0, (wanted_s, wanted_s))
    assert (fit(learned.state, JUDGE).wanted_s, learned.state.next_window_s(JUDGE)) == ((), 3.0)


def test_host_with_peers_keeps_the_window_that_they_have(learned: Watched) -> None:
    judge_by = replace(JUDGE, window_s=6.0, window_bounds_s=(3.0, 12.0))
    among_peers = replace(learned.state, peers=PeerState(group="job"), wanted_s=(3.0,))
    assert fit(among_peers, judge_by).next_window_s(judge_by) == 3.0


def test_largest_statistic_counts_once_a_period_and_those_of_long_ago_are_forgotten(learned: Watched) -> None:
    state = replace(learned.state, maxima=np.full(JUDGE.maxima_kept - 1, 0.1))
    later = watch(synthetic_frame(LEARNED_S + 250.0), replace(JUDGE, refit_s=1e6), state, LEARNED_S, fits=False)
    assert len(later.state.maxima) == JUDGE.maxima_kept
    assert 3 <= (later.state.maxima != 0.1).sum() <= 4


def test_learning_is_frozen_in_an_episode_and_a_minute_after_it(learned: Watched) -> None:
    frame = synthetic_frame(520.0, fault_of("memory", FAULT_S, 300.0))
    long_fault = watch(frame, state=learned.state, after_s=LEARNED_S, fits=False)
    assert all(verdict.frozen == verdict.active for verdict in long_fault.verdicts)
    ends_s, _, _ = long_fault.state.training.table()
    trained_s = ends_s[ends_s > START_S + LEARNED_S] - START_S
    closed_s = long_fault.state.episode.closed_s - START_S
    assert 300.0 < closed_s < 315.0
    assert np.all((trained_s < FAULT_S) | (trained_s > closed_s + JUDGE.merge_s))
    again_s = round(closed_s + JUDGE.merge_s) + 1
    assert {*np.arange(again_s, 520 - JUDGE.lasting_of)} <= set(np.round(trained_s))
    assert trained_s.max() > closed_s + JUDGE.merge_s


def test_lasting_fault_becomes_the_new_normal_and_is_counted(learned: Watched) -> None:
    judge_by = replace(JUDGE, freeze_limit_s=60.0, baseline_s=60.0)
    frame = synthetic_frame(550.0, fault_of("memory", FAULT_S, 450.0))
    watched = watch(frame, judge_by, learned.state, LEARNED_S)
    assert watched.state.rebaselines == watched.verdicts[-1].rebaselines == 1
    assert watched.between(300.0, 301.0)[0].frozen
    relearning = watched.between(330.0, 370.0)
    assert all(verdict.active and not verdict.frozen for verdict in relearning)
    assert not any(verdict.active for verdict in watched.between(400.0, 450.0))
    # What was normal before still is.
    assert not any(verdict.active for verdict in watched.between(450.0, 550.0))


def test_what_comes_each_day_is_told_twice_and_makes_nothing_else_unheard(learned: Watched) -> None:
    (pattern,) = _again(learned, 1).state.closed
    daily = tuple(replace(pattern, onset_s=pattern.onset_s - days * DAY_S + 600.0) for days in (2, 1))
    known = replace(learned, state=replace(learned.state, closed=daily))
    frame = synthetic_frame(FAULT_S + 2 * AGAIN_S, fault_of("memory", FAULT_S, FAULT_S + LASTS_S))
    today = watch(frame, JUDGE, known.state, LEARNED_S, fits=False)
    assert today.openings == []
    assert max(verdict.score for verdict in today.verdicts if verdict.score is not None) > 1.0
    assert today.state.model is not None
    assert today.state.maxima.max() == pytest.approx(MARGIN * today.state.model.fused.bound)
    assert _learned_in(today, FAULT_S, FAULT_S + LASTS_S) > 0
    assert len(_in_turn(known, ["storage"]).openings) == 1
    once = replace(learned, state=replace(learned.state, closed=daily[:1]))
    assert len(_again(once, 1).openings) == 1


def test_what_is_expected_goes_on_through_windows_that_show_a_fit(learned: Watched) -> None:
    (pattern,) = _again(learned, 1).state.closed
    daily = tuple(replace(pattern, onset_s=pattern.onset_s - days * DAY_S + 600.0) for days in (2, 1))
    frame = synthetic_frame(FAULT_S + 2 * AGAIN_S, fault_of("memory", FAULT_S, FAULT_S + LASTS_S))
    today, until_fit = list(windows(frame, JUDGE, LEARNED_S)), round(FAULT_S + 12.0 - LEARNED_S)
    state = replace(learned.state, closed=daily)
    for window in today[:until_fit]:
        state, _ = judge_window(window, state, JUDGE)
    expected_s = state.expected_s
    assert expected_s > START_S, "it comes as on other days"
    state = disturbed(fit(state, JUDGE), 2.0, state.last_end_s, JUDGE)
    assert state.sizes == (), "of the model before"
    for window in today[until_fit : until_fit + 3]:
        state, verdict = judge_window(window, state, JUDGE)
        assert np.isnan(verdict.score)
        assert (verdict.active, state.expected_s) == (False, expected_s)


def test_alarm_need_not_outlast_all_that_is_known_of_what_is_normal(learned: Watched) -> None:
    hours = Judge()
    assert [hours.freeze_s(known_s) for known_s in (np.nan, 100.0, 700.0, 86_400.0)] == [300.0, 300.0, 700.0, 1800.0]
    assert Judge(window_s=45.0, stride_s=15.0, freeze_limit_s=9000.0).freeze_s(3600.0) == 4500.0
    faint = watch(synthetic_frame(FAULT_S + 600.0, fault_of("memory", FAULT_S, 1e6)), JUDGE, learned.state, LEARNED_S)
    known_s = faint.state.training.oldest_s - START_S
    assert known_s == JUDGE.settling_s + JUDGE.window_s
    active = [verdict for verdict in faint.verdicts if verdict.active]
    assert FAULT_S + 300.0 < active[-1].end_s - START_S < FAULT_S + 300.0 + JUDGE.baseline_s + 20.0
    assert faint.state.rebaselines == 1


def test_new_normal_of_a_past_that_is_judged_again_is_not_counted_again(learned: Watched) -> None:
    judge_by = replace(JUDGE, freeze_limit_s=60.0, again=True)
    frame = synthetic_frame(330.0, fault_of("memory", FAULT_S, 450.0))
    past = watch(frame, judge_by, learned.state, LEARNED_S, fits=False)
    assert (past.state.rebaselining, past.state.rebaselines) == (True, 0)


def test_model_is_not_fitted_anew_while_an_episode_may_begin(learned: Watched) -> None:
    judge_by = replace(JUDGE, refit_s=10.0)
    frame = synthetic_frame(FAULT_S + 3.0, fault_of("storage", FAULT_S, FAULT_S + 10.0))
    watched = watch(frame, judge_by, learned.state, LEARNED_S, fits=False)
    state, end_s = watched.state, watched.verdicts[-1].end_s
    assert state.scores[-1].exceeds
    assert not state.episode.open
    assert not due(state, end_s, judge_by)
    calm = replace(state.scores[-1], score=0.5)
    assert due(replace(state, scores=(*state.scores[:-1], calm)), end_s, judge_by)


def test_fit_that_is_due_waits_until_an_episode_is_settled_and_its_shape_is_what_moved(learned: Watched) -> None:
    frame = synthetic_frame(FAULT_S + AGAIN_S, fault_of("memory", FAULT_S, FAULT_S + LASTS_S))
    often, never = (
        watch(frame, replace(JUDGE, refit_s=refit_s), learned.state, LEARNED_S, fits=refit_s < JUDGE.refit_s)
        for refit_s in (20.0, JUDGE.refit_s)
    )
    fits_s = sorted({verdict.fitted_s - START_S for verdict in often.verdicts})
    closed_s = never.state.episode.closed_s - START_S
    assert [fit_s for fit_s in fits_s if FAULT_S + 5 < fit_s <= closed_s + JUDGE.merge_s] == []
    assert fits_s[-1] > closed_s + JUDGE.merge_s
    (one,), (other,) = often.state.closed, never.state.closed
    assert one.names == other.names
    assert np.array_equal(one.shape, other.shape)


def test_episode_is_counted_once(learned: Watched) -> None:
    watched = _again(learned, 2)
    assert (watched.state.episodes, watched.verdicts[-1].episodes, watched.state.pages) == (2, 2, 0)


def test_episode_of_a_past_that_is_judged_again_is_counted_once_it_is_told(learned: Watched) -> None:
    fault = fault_of("memory", FAULT_S, 400.0)
    past = watch(synthetic_frame(280.0, fault), replace(JUDGE, again=True), learned.state, LEARNED_S, fits=False)
    assert past.state.episode.open
    assert (past.openings, past.state.episodes) == ([], 0)
    paging = replace(past.state, episode=replace(past.state.episode, page=True))
    told = watch(synthetic_frame(290.0, fault), state=paging, after_s=280.0, fits=False)
    assert {(verdict.active, verdict.episodes, verdict.pages) for verdict in told.verdicts} == {(True, 1, 1)}


def test_episode_that_was_told_is_not_counted_again_where_its_time_is_judged_again_as_it_was(learned: Watched) -> None:
    fault, told_s = fault_of("memory", FAULT_S, 400.0), 290.0
    for saved_s in (FAULT_S, 280.0):  # before it opened, and while it was open
        saved = watch(synthetic_frame(saved_s, fault), state=learned.state, after_s=LEARNED_S, fits=False).state
        counted, episode = saved.episode.open, replace(saved.episode, page=saved.episode.open)
        loaded = replace(saved, episode=episode, pages=int(counted), told_s=START_S + saved_s)
        past = watch(synthetic_frame(told_s, fault), replace(JUDGE, again=True), loaded, saved_s, fits=False)
        told = watch(synthetic_frame(told_s + 5.0, fault), state=past.state, after_s=told_s, fits=False)
        assert {(verdict.active, verdict.episodes, verdict.pages) for verdict in told.verdicts} == {
            (True, counted, counted)
        }


def test_episode_that_was_over_when_a_past_was_judged_again_is_not_counted(learned: Watched) -> None:
    frame = synthetic_frame(310.0, fault_of("memory", FAULT_S, 280.0))
    past = watch(frame, replace(JUDGE, again=True), learned.state, LEARNED_S, fits=False)
    assert past.state.episode.closed_s > START_S + 280.0, "there was one"
    told = watch(synthetic_frame(315.0), state=past.state, after_s=310.0, fits=False)
    assert {(verdict.active, verdict.episodes) for verdict in told.verdicts} == {(False, 0)}


def test_what_comes_twice_is_not_learned(learned: Watched) -> None:
    watched = _again(learned, USUAL_FROM - 1)
    for number in range(USUAL_FROM - 1):
        assert _learned_in(watched, FAULT_S + number * AGAIN_S, FAULT_S + number * AGAIN_S + LASTS_S) == 0


def test_what_comes_again_and_again_is_learned_and_no_longer_alarms(learned: Watched) -> None:
    watched = _again(learned, USUAL_FROM + 2)
    third_s = FAULT_S + (USUAL_FROM - 1) * AGAIN_S
    assert _learned_in(watched, third_s, third_s + LASTS_S) > 0
    assert len(watched.openings_s) == USUAL_FROM


def test_what_was_learned_makes_a_host_deaf_to_nothing_else(learned: Watched) -> None:
    others = ["network", "storage", "cpu"]
    watched = _in_turn(learned, ["memory"] * (USUAL_FROM + 1) + others)
    assert watched.state.training.flagged().any()
    assert [verdict.subsystem for verdict in watched.openings[-len(others) :]] == others


def test_faults_of_one_subsystem_that_have_nothing_in_common_are_not_learned(learned: Watched) -> None:
    watched = _in_turn(learned, ["memory"] * USUAL_FROM, [slice(0, 2), slice(2, 3), slice(4, 6)])
    assert [verdict.subsystem for verdict in watched.openings] == ["memory"] * USUAL_FROM
    assert not watched.state.training.flagged().any()


def test_episode_that_is_learned_counts_among_the_largest_levels_too(learned: Watched) -> None:
    judge_by = replace(JUDGE, refit_s=1e6)
    starts_s = [FAULT_S + number * AGAIN_S for number in range(USUAL_FROM)]
    faults = [fault for start_s in starts_s for fault in fault_of("memory", start_s, start_s + LASTS_S)]
    watched = watch(synthetic_frame(starts_s[-1] + AGAIN_S - 5.0, faults), judge_by, learned.state, LEARNED_S, False)
    model = learned.state.model
    assert model is not None
    assert watched.state.outdated
    assert np.isfinite(watched.state.maxima).all()
    assert np.sum(watched.state.maxima > model.fused.bound) == USUAL_FROM


def test_episodes_of_several_subsystems_are_not_one_that_comes_again(learned: Watched) -> None:
    watched = _in_turn(learned, ["memory", "storage", "network"])
    third_s = FAULT_S + (USUAL_FROM - 1) * AGAIN_S
    assert _learned_in(watched, third_s, third_s + LASTS_S) == 0


def test_episode_counts_once_among_the_largest_levels_and_not_by_its_severity(learned: Watched) -> None:
    judge_by = replace(JUDGE, refit_s=1e6)
    quiet = watch(synthetic_frame(400.0), judge_by, learned.state, LEARNED_S, fits=False)
    frame = synthetic_frame(400.0, fault_of("memory", FAULT_S, FAULT_S + LASTS_S))
    faulty = watch(frame, judge_by, learned.state, LEARNED_S, fits=False)
    model = learned.state.model
    assert model is not None
    assert faulty.state.maxima.max() == MARGIN * model.fused.bound
    assert np.sum(faulty.state.maxima > model.fused.bound) == 1
    assert quiet.state.maxima.max() < model.fused.bound
