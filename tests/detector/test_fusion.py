"""Scores of different kinds are brought to one scale and averaged by weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from detector.frame import Floats
from detector.fusion import Smoothing, fit_normaliser, fuse, smoothed
from tests.properties import PROPERTY

SCORES = npst.arrays(np.float64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.floats(-50, 50))

NOT_LIMITED = np.zeros(3)


def test_normalised_median_is_zero_and_the_99th_percentile_one() -> None:
    held_out = np.random.default_rng(0).exponential([1.0, 5.0, 100.0], (1001, 3))
    normalised = fit_normaliser(held_out, NOT_LIMITED)(held_out)
    assert np.allclose(np.percentile(normalised, [50, 99], axis=0), [[0.0] * 3, [1.0] * 3])


def test_short_even_baseline_does_not_make_a_little_more_than_usual_far() -> None:
    held_out = np.full((50, 1), 2.0) + np.linspace(0.0, 0.1, 50)[:, None]
    assert fit_normaliser(held_out, np.array([3.0]))(np.array([[2.05 * 4.0]])) == pytest.approx(1.0, abs=0.01)


@PROPERTY
@given(SCORES)
def test_constant_and_any_other_scores_are_normalised_to_finite_ones(held_out: Floats) -> None:
    constant = np.concatenate([held_out[:, :2], np.full((len(held_out), 1), 7.0)], axis=1)
    normalised = fit_normaliser(constant, NOT_LIMITED)(constant)
    assert np.isfinite(normalised).all()
    assert np.all(normalised[:, 2] == 0.0)


@PROPERTY
@given(SCORES, st.lists(st.floats(0.1, 5), min_size=3, max_size=3))
def test_fused_score_is_the_weighted_mean(normalised: Floats, weights: list[float]) -> None:
    assert np.allclose(fuse(normalised, np.array(weights)), np.average(normalised, axis=1, weights=weights))


def test_missing_part_makes_the_whole_missing() -> None:
    fused = fuse(np.array([[1.0, np.nan], [1.0, 3.0]]), np.array([1.0, 1.0]))
    assert np.array_equal(fused, [np.nan, 2.0], equal_nan=True)


def test_one_weight_a_detector_is_demanded() -> None:
    with pytest.raises(AssertionError, match="one weight a detector"):
        fuse(np.zeros((2, 3)), np.ones(2))


@PROPERTY
@given(SCORES, st.integers(1, 12), st.integers(0, 20), st.booleans())
def test_smoothed_score_is_that_of_the_newest_of_its_run(
    normalised: Floats, windows: int, cut: int, median: bool
) -> None:
    runs = (np.arange(len(normalised)) >= cut).astype(np.intp)
    smoothing = Smoothing(windows, median)
    result = smoothed(normalised, runs, smoothing)
    for row in range(len(normalised)):
        newest = [normalised[i] for i in range(max(0, row - windows + 1), row + 1) if runs[i] == runs[row]]
        assert np.allclose(result[row], (np.median if median else np.mean)(newest, axis=0))
        assert np.allclose(result[row], smoothing.newest(np.array(newest)))


def test_no_burst_passes_a_median_that_is_shorter_than_half_of_it() -> None:
    scores = np.ones((40, 1))
    scores[10:12], scores[30:33] = 100.0, 100.0
    smoothed_scores = Smoothing(5, median=True).over(scores)[:, 0]
    assert np.flatnonzero(smoothed_scores > 1).tolist() == [32, 33, 34]
