"""What is a little out of the ordinary and stays so is found as well as what is far out of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detector.judge import Judge
from detector.pipeline import lasting_score
from tests.detector.synthetic import START_S, synthetic_frame, weak_fault_of
from tests.detector.watching import Watched, watch

BEGIN_S, END_S = 900.0, 1000.0
JUDGE = Judge(baseline_s=700.0)
SUDDEN_ONLY = replace(JUDGE, lasting_of=301)


@pytest.fixture(scope="module")
def watched() -> Watched:
    """A host that was seen long enough to know how far it strays for a minute."""
    seen = watch(synthetic_frame(BEGIN_S), JUDGE)
    assert seen.state.model is not None
    assert seen.state.model.lasting is not None
    return seen


def _with_weak_fault(watched: Watched, subsystem: str, judge_by: Judge = JUDGE) -> Watched:
    frame = synthetic_frame(END_S + 30.0, weak_fault_of(subsystem, BEGIN_S, END_S))
    return watch(frame, judge_by, watched.state, BEGIN_S, fits=False)


@pytest.mark.parametrize("subsystem", ["memory", "storage", "network"])
def test_weak_fault_is_found_once_it_has_lasted_and_is_blamed_on_its_subsystem(
    watched: Watched, subsystem: str
) -> None:
    found = _with_weak_fault(watched, subsystem)
    assert _with_weak_fault(watched, subsystem, SUDDEN_ONLY).openings_s == []
    assert [JUDGE.lasting_votes <= opening_s - BEGIN_S <= JUDGE.lasting_of for opening_s in found.openings_s] == [True]
    active = [verdict for verdict in found.verdicts if verdict.active]
    assert {verdict.subsystem for verdict in active} == {subsystem}
    assert abs(active[0].onset_s - START_S - BEGIN_S) < 5.0
    assert active[0].score > 1.0


def test_alarm_for_what_lasts_ends_with_it(watched: Watched) -> None:
    found = _with_weak_fault(watched, "storage")
    assert END_S < found.state.episode.closed_s - START_S < END_S + 15.0


def test_what_was_an_episode_does_not_count_as_lasting_when_it_is_over(watched: Watched) -> None:
    found = _with_weak_fault(watched, "storage")
    state, end_s = found.state, found.state.last_end_s
    assert state.model is not None
    assert lasting_score(state, state.model, end_s, JUDGE) < 1.0
    forgotten = replace(state, episode=replace(state.episode, closed_s=float("nan")))
    assert sum(scored.fused > state.model.lasting.bound for scored in forgotten.scores) > 0  # type: ignore[union-attr]


def test_short_baseline_does_not_tell_what_lasting_means() -> None:
    state = watch(synthetic_frame(400.0), Judge(baseline_s=240.0)).state
    assert state.model is not None
    assert state.model.lasting is None
    assert lasting_score(state, state.model, state.last_end_s, JUDGE) == 0.0


def test_where_so_many_windows_take_an_hour_only_the_sudden_counts() -> None:
    assert Judge(window_s=180.0, stride_s=60.0).lasting is None
    assert Judge().lasting is not None


def test_levels_of_what_lasts_are_kept_by_the_minute(watched: Watched) -> None:
    later = watch(synthetic_frame(BEGIN_S + 240.0), replace(JUDGE, refit_s=1e6), watched.state, BEGIN_S, fits=False)
    assert 3 <= len(later.state.lasting_maxima) - len(watched.state.lasting_maxima) <= 4
    assert np.isfinite(later.state.lasting_maxima).all()
