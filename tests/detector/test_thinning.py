"""A host that is read more often at times looks like one that never is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.frame import Frame
from detector.thinning import far_apart
from tests.detector.conftest import LEARNED_S
from tests.detector.synthetic import START_S, synthetic_frame
from tests.detector.watching import Watched, scores, watch
from tests.properties import PROPERTY

CALM_S, FINEST_S = 0.6, 0.1
CALM_TICKS = 6
BUSY_S = [(start_s, start_s + 7.3) for start_s in np.arange(LEARNED_S + 10.0, LEARNED_S + 110.0, 20.0)]


def _host(seed: int, *, busy: bool, lateness_s: float = 0.02) -> Frame:
    """One that is read every 600 ms, and every 100 ms at times if it is ``busy`` then; its ticks are late at times."""
    frame = synthetic_frame(LEARNED_S + 110.0)
    ticks = np.arange(1, len(frame.times_s) + 1)
    elapsed_s = frame.times_s - START_S
    often = np.any([(elapsed_s > start_s) & (elapsed_s < end_s) for start_s, end_s in BUSY_S], axis=0)
    chosen = (ticks % CALM_TICKS == 0) | (often & busy)
    late_s = np.random.default_rng(seed).exponential(lateness_s / 5, len(ticks)).clip(0.0, lateness_s)
    # What a tick reads is what was there when it came.
    late_values = frame.values + np.diff(frame.values, axis=0, append=frame.values[-1:]) * (late_s / FINEST_S)[:, None]
    return Frame(frame.instance, (frame.times_s + late_s)[chosen], late_values[chosen], frame.columns)


def _thinned(frame: Frame) -> Frame:
    kept = far_apart(frame.times_s, CALM_S, FINEST_S, np.nan)
    return Frame(frame.instance, frame.times_s[kept], frame.values[kept], frame.columns)


@pytest.fixture(scope="module")
def calm() -> Watched:
    """A healthy host that is read every 600 ms all the time."""
    return watch(_host(1, busy=False))


def _later(watched: Watched) -> npt.NDArray[np.float64]:
    return scores(watched)[[verdict.end_s - START_S > LEARNED_S for verdict in watched.verdicts]]


@pytest.mark.parametrize("seed", [1, 2])
def test_change_of_rate_is_no_anomaly_and_mutes_nothing(calm: Watched, seed: int) -> None:
    watched = watch(_thinned(_host(seed, busy=True)))
    usual, changing = _later(calm), _later(watched)
    assert (calm.openings_s, watched.openings_s) == ([], [])
    assert len(changing) == len(usual)
    assert not np.isnan(changing).any()
    for quantile in (0.1, 0.5, 0.9, 1.0):
        assert np.quantile(changing, quantile) == pytest.approx(np.quantile(usual, quantile), abs=0.25)


def test_change_of_rate_would_show_if_all_rows_were_judged(calm: Watched) -> None:
    watched = watch(_host(1, busy=True))
    assert np.quantile(_later(watched), 0.9) > 5 * np.quantile(_later(calm), 0.9)


@PROPERTY
@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 0.04)), min_size=1, max_size=200), st.integers(0, 200))
def test_rows_that_are_kept_are_an_interval_apart_and_no_more_than_two(
    steps: list[tuple[bool, float]], cut: int
) -> None:
    times, tick = [], 0
    for often, late_s in steps:
        times.append(tick * FINEST_S + late_s)
        tick = tick + 1 if often else (tick // CALM_TICKS + 1) * CALM_TICKS
    times_s = np.array(times)
    kept = far_apart(times_s, CALM_S, FINEST_S, np.nan)
    gaps_s = [times[later] - times[earlier] for earlier, later in pairwise(kept)]
    assert all(CALM_S - FINEST_S / 2 <= gap_s <= 2 * CALM_S for gap_s in gaps_s)
    first = far_apart(times_s[:cut], CALM_S, FINEST_S, np.nan)
    newest_s = times[first[-1]] if len(first) else np.nan
    second = far_apart(times_s[cut:], CALM_S, FINEST_S, newest_s)
    assert [*first, *(second + cut)] == [*kept], "read at once or in parts"


def test_rows_of_a_fixed_rate_are_all_kept_however_late() -> None:
    times_s = np.array([0.0, 0.19, 0.2, 0.3])
    assert far_apart(times_s, 0.1, None, np.nan).tolist() == [0, 1, 2, 3]
