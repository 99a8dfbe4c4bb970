"""Deviations are in robust spreads, never below what the catalog says matters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from catalog.signal import Scale, Worse
from detector.features import STATISTICS, Feature
from detector.frame import Floats
from detector.high import share_above
from detector.scaling import LEAST_SPREAD, MAD_TO_SIGMA, fit_scaler
from tests.detector import naive
from tests.detector.arrays import channel, features_of, plain_features, tables
from tests.properties import PROPERTY

VALUES = st.floats(-1e6, 1e6)


def _spread(column: list[float], rows: int, least: float) -> float:
    median, above = naive.percentile(column, 50), share_above(rows)
    sizes = [abs(value - median) for value in column]
    high = naive.percentile(sizes, 100 * (1 - above)) / float(norm.isf(above / 2))
    return max(MAD_TO_SIGMA * naive.percentile(sizes, 50), high, least)


@PROPERTY
@given(tables(VALUES))
def test_median_and_spread_are_those_of_the_naive_formula(x: Floats) -> None:
    scaler = fit_scaler(x, plain_features(x.shape[1]))
    for column in range(x.shape[1]):
        known = [value for value in x[:, column].tolist() if not np.isnan(value)] or [0.0]
        assert np.isclose(scaler.median[column], naive.percentile(known, 50), rtol=1e-9, atol=1e-9)
        assert np.isclose(scaler.spread[column], _spread(known, len(x), LEAST_SPREAD[Scale.LINEAR]), rtol=1e-9)


def test_sigma_of_a_normal_distribution_is_met() -> None:
    x = 5.0 * np.random.default_rng(0).standard_normal((20_000, 1)) + 100.0
    scaler = fit_scaler(x, plain_features(1))
    assert np.isclose(scaler.median[0], 100.0, atol=0.2)
    assert np.isclose(scaler.spread[0], 5.0, rtol=0.05)


@pytest.mark.parametrize("scale", list(Scale))
def test_constant_series_deviates_by_its_floor_and_not_by_infinity(scale: Scale) -> None:
    features = features_of([channel(scale=scale)])
    scaler = fit_scaler(np.full((50, 1), 3.0), features)
    least = LEAST_SPREAD[scale]
    assert np.allclose(scaler.deviations(np.array([[3.0], [3.0 + least], [3.0 - 2 * least]]))[:, 0], [0.0, 1.0, -2.0])


def test_bursty_series_has_the_spread_of_its_bursts() -> None:
    x = np.zeros((100, 1))
    x[::8] = 40.0
    assert fit_scaler(x, plain_features(1)).spread[0] > 10.0


@pytest.mark.parametrize(
    ("worse", "expected"),
    [(Worse.HIGHER, [0.0, 2.0]), (Worse.LOWER, [-2.0, 0.0]), (Worse.EITHER, [-2.0, 2.0])],
)
def test_harmless_side_is_no_deviation(worse: Worse, expected: list[float]) -> None:
    features = features_of([channel(worse=worse)])
    z = fit_scaler(np.zeros((10, 1)), features).deviations(np.array([[-2.0], [2.0]]))
    assert z[:, 0].tolist() == expected


def test_restlessness_counts_where_lower_is_worse_and_calm_does_not() -> None:
    features = (Feature(channel(worse=Worse.LOWER), "deviation"),)
    z = fit_scaler(np.full((10, 1), 5.0), features).deviations(np.array([[0.0], [9.0]]))
    assert z[:, 0].tolist() == [0.0, 4.0]


def test_missing_values_stay_missing_and_an_empty_column_is_at_zero() -> None:
    x = np.array([[np.nan, 1.0], [np.nan, np.nan], [np.nan, 3.0]])
    scaler = fit_scaler(x, plain_features(2))
    assert scaler.median.tolist() == [0.0, 2.0]
    assert np.array_equal(np.isnan(scaler.deviations(x)), np.isnan(x))


@PROPERTY
@given(tables(VALUES), st.floats(-1e3, 1e3))
def test_level_of_a_channel_does_not_matter(x: Floats, shift: float) -> None:
    features = plain_features(x.shape[1])
    before, after = fit_scaler(x, features).deviations(x), fit_scaler(x + shift, features).deviations(x + shift)
    assert np.allclose(before, after, rtol=1e-6, atol=1e-6, equal_nan=True)


@PROPERTY
@given(tables(VALUES, rows=(1, 20)), tables(VALUES, rows=(3, 3), columns=(4, 4)))
def test_gaps_of_any_pattern_never_give_infinities(x: Floats, other: Floats) -> None:
    z = fit_scaler(x, plain_features(x.shape[1])).deviations(other[:, : x.shape[1]])
    assert not np.isinf(z).any()


def test_one_feature_a_column_is_demanded() -> None:
    with pytest.raises(AssertionError, match="2 columns for 1 features"):
        fit_scaler(np.zeros((3, 2)), plain_features(1))


def test_each_statistic_of_each_direction_has_a_side() -> None:
    features = tuple(Feature(channel(worse=worse), name) for worse in Worse for name in STATISTICS)
    assert set(fit_scaler(np.zeros((3, len(features))), features).sign) == {-1.0, 0.0, 1.0}
