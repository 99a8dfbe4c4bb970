"""Scores become tail probabilities that mean what they say, with 1.0 at the bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from detector.calibration import (
    LEAST_BOUND,
    MARGIN,
    MOST_SCORE,
    MOST_SHAPE,
    PAGE_MARGIN,
    Calibration,
    Rule,
    Tail,
    alarm_statistic,
    calibrate,
    fit_tail,
)
from detector.frame import Floats
from tests.detector import naive
from tests.properties import PROPERTY

RULE = Rule(5, 10, 0.5, 0.05)
MINUTES_PER_DAY = 1440.0
NOTHING = np.empty(0)
SHAPES = st.sampled_from([0.0, 0.1, 0.3, 0.5])


def _normal(rows: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(rows)


def _calibrate(held_out: Floats, maxima: Floats = NOTHING, rule: Rule = RULE) -> Calibration:
    return calibrate(held_out, np.zeros(len(held_out), dtype=np.intp), maxima, MINUTES_PER_DAY, rule)


@PROPERTY
@given(SHAPES, st.floats(0.1, 10), st.floats(-5, 5), st.floats(0, 50))
def test_tail_probability_is_that_of_scipy(shape: float, scale: float, level: float, excess: float) -> None:
    tail = Tail(level, 0.1, scale, shape)
    x = np.array([level + excess])
    expected = np.log(0.1) + stats.genpareto.logsf(x[0] - level, shape, scale=scale)
    assert np.isclose(tail.log_survival(x)[0], expected, rtol=1e-6, atol=1e-9)


@PROPERTY
@given(SHAPES, st.floats(0.1, 10), st.floats(1e-9, 0.1))
def test_quantile_is_the_inverse_of_the_tail_probability(shape: float, scale: float, p: float) -> None:
    tail = Tail(2.0, 0.1, scale, shape)
    assert np.isclose(tail.log_survival(np.array([tail.quantile(p)]))[0], np.log(p), rtol=1e-6)


@pytest.mark.parametrize("shape", [0.0, 0.2, 0.4])
def test_fitted_tail_meets_the_quantiles_of_a_known_distribution(shape: float) -> None:
    known = stats.genpareto(shape, scale=3.0)
    tail = fit_tail(known.ppf((np.arange(40_000) + 0.5) / 40_000), 0.05, pareto=True)
    assert np.isclose(tail.shape, shape, atol=0.05)
    for p in (1e-2, 1e-3, 1e-4):
        assert np.isclose(tail.quantile(p), known.isf(p), rtol=0.1)


def test_fit_agrees_with_the_maximum_likelihood_of_scipy() -> None:
    values = stats.genpareto.rvs(0.25, scale=2.0, size=20_000, random_state=3)
    tail = fit_tail(values, 0.1, pareto=True)
    shape, _, scale = stats.genpareto.fit(values[values > tail.level] - tail.level, floc=0.0)
    assert np.isclose(tail.shape, shape, atol=0.08)
    assert np.isclose(tail.scale, scale, rtol=0.08)


def test_tail_is_never_lighter_than_exponential_nor_without_variance() -> None:
    bounded = fit_tail(np.linspace(0.0, 1.0, 5000), 0.1, pareto=True)
    heavy = fit_tail(stats.genpareto.ppf((np.arange(5000) + 0.5) / 5000, 1.5), 0.1, pareto=True)
    assert (bounded.shape, heavy.shape) == (0.0, MOST_SHAPE)


def test_little_data_gets_an_exponential_tail() -> None:
    assert fit_tail(stats.genpareto.rvs(0.4, size=400, random_state=1), 0.1, pareto=False).shape == 0.0


@PROPERTY
@given(st.lists(st.floats(-5, 5) | st.just(np.nan), min_size=1, max_size=30), st.integers(1, 6), st.integers(0, 4))
def test_alarm_statistic_is_that_of_the_naive_loop(scores: list[float], votes: int, more: int) -> None:
    of = votes + more
    assert alarm_statistic(np.array(scores), votes, of).tolist() == naive.alarm_statistic(scores, votes, of)


@pytest.mark.parametrize(("loud", "alarms"), [(4, False), (5, True), (10, True)])
def test_alarm_statistic_exceeds_the_bound_with_five_of_ten(loud: int, alarms: bool) -> None:
    scores = np.where(np.arange(10) % 2 if loud < 10 else np.ones(10), 2.0, 0.0)
    scores[np.flatnonzero(scores)[loud:]] = 0.0
    assert (alarm_statistic(scores, 5, 10)[-1] > 1.0) == alarms


@pytest.mark.parametrize("rows", [40, 300, 3000])
def test_score_is_one_at_the_bound_and_grows_with_the_value(rows: int) -> None:
    calibration = _calibrate(_normal(rows))
    values = np.linspace(-5.0, 20.0, 500)
    scores = calibration.score(values)
    assert np.isclose(calibration.score(np.array([calibration.bound]))[0], 1.0)
    assert np.all(np.diff(scores) >= -1e-12)
    assert np.all(scores >= 0.0)
    assert np.all((scores > 1.0) == (values > calibration.bound))


@pytest.mark.parametrize("rows", [40, 3000])
def test_p_value_stays_in_its_range_and_the_score_below_its_cap(rows: int) -> None:
    calibration = _calibrate(_normal(rows))
    values = np.array([-1e6, 0.0, calibration.bound, 1e3, 1e9])
    p, scores = calibration.p_value(values), calibration.score(values)
    alpha = p[2]
    assert np.isclose(p[0], 1.0 - 1.0 / (rows + 1))
    assert np.isclose(p.min(), alpha**MOST_SCORE)
    assert scores.max() == MOST_SCORE
    assert np.all(np.diff(p) <= 0)


def test_p_value_is_the_share_of_healthy_values_that_are_greater() -> None:
    calibration = _calibrate(np.random.default_rng(1).exponential(1.0, 4000))
    fresh = np.random.default_rng(2).exponential(1.0, 50_000)
    for quantile in (0.5, 0.9, 0.99, 0.999):
        value = np.array([np.quantile(fresh, quantile)])
        assert np.isclose(calibration.p_value(value)[0], 1.0 - quantile, rtol=0.35, atol=2e-4)


def test_missing_score_stays_missing() -> None:
    calibration = _calibrate(_normal(100))
    assert np.isnan(calibration.score(np.array([np.nan]))).all()
    assert np.isnan(calibration.p_value(np.array([np.nan]))).all()


def test_little_data_gives_a_provisional_bound_above_the_worst_and_never_pages() -> None:
    held_out = 2.0 + _normal(300)
    calibration = _calibrate(held_out)
    worst = alarm_statistic(held_out, 5, 10).max()
    assert calibration.provisional
    assert calibration.bound >= MARGIN * worst
    assert calibration.page_score() == np.inf


def test_single_burst_does_not_set_the_bound() -> None:
    held_out = 2.0 + _normal(300)
    burst = held_out.copy()
    burst[100:104] = 1e3  # one less than makes an alarm
    assert _calibrate(burst).bound < 1e3


def test_sustained_burst_raises_the_bound_above_itself() -> None:
    held_out = 2.0 + _normal(300)
    held_out[100:110] = 50.0
    assert _calibrate(held_out).bound >= MARGIN * 50.0


def test_bounds_run_no_further_beyond_what_was_seen_than_a_margin() -> None:
    maxima = np.random.default_rng(3).pareto(1.2, 1500)  # its tail promises ever more
    calibration = _calibrate(_normal(1000) / 3, maxima, Rule(5, 10, 0.001, 0.0005))
    assert calibration.bound == pytest.approx(MARGIN * maxima.max())
    assert calibration.page_bound == pytest.approx(PAGE_MARGIN * MARGIN * maxima.max())


def test_nothing_pages_before_a_day_was_seen() -> None:
    maxima = np.random.default_rng(3).exponential(1.0, 1440)
    young, old = _calibrate(_normal(1000) / 3, maxima[1:]), _calibrate(_normal(1000) / 3, maxima)
    assert not young.provisional
    assert not old.provisional
    assert young.page_score() == np.inf
    assert 1.0 < old.page_score() < np.inf


def test_alarm_statistic_does_not_reach_over_a_gap_in_the_baseline() -> None:
    held_out = np.zeros(40)
    held_out[17:23] = 50.0
    runs = np.repeat(np.array([0, 1], dtype=np.intp), 20)
    parted = calibrate(held_out, runs, NOTHING, MINUTES_PER_DAY, RULE)
    assert parted.bound < _calibrate(held_out).bound


@pytest.mark.parametrize("heavy", [False, True])
def test_bounds_meet_the_budget_of_alarms_once_there_are_enough_minutes(heavy: bool) -> None:
    known = stats.genpareto(0.2, scale=0.3, loc=1.0) if heavy else stats.expon(scale=0.3, loc=1.0)
    maxima = known.rvs(size=6000, random_state=5)
    calibration = _calibrate(_normal(1000) / 3, maxima)
    assert not calibration.provisional
    assert 0.2 < known.sf(calibration.bound) * MINUTES_PER_DAY / RULE.warning_per_day < 5.0
    assert 0.1 < known.sf(calibration.page_bound) * MINUTES_PER_DAY / RULE.page_per_day < 10.0
    assert 1.0 < calibration.page_score() < MOST_SCORE


def test_tighter_budget_gives_a_higher_bound() -> None:
    maxima = 1.0 + np.random.default_rng(0).exponential(0.3, 6000)
    bounds = [_calibrate(_normal(1000) / 3, maxima, Rule(5, 10, w, w / 10)).bound for w in (5.0, 0.5, 0.05)]
    assert bounds == sorted(bounds)
    assert len(set(bounds)) == 3


def test_bound_never_falls_below_what_single_windows_reach() -> None:
    assert _calibrate(-10.0 + 0.01 * _normal(2000), np.full(2000, -10.0)).bound >= LEAST_BOUND


@PROPERTY
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=120), st.lists(st.floats(-1e4, 1e4), min_size=1))
def test_any_baseline_gives_finite_scores_in_order(held_out: list[float], values: list[float]) -> None:
    calibration = _calibrate(np.array(held_out))
    scores = calibration.score(np.sort(np.array(values)))
    assert np.isfinite(scores).all()
    assert np.all(np.diff(scores) >= -1e-9)
    assert np.isclose(calibration.score(np.array([calibration.bound]))[0], 1.0)


def test_one_window_is_not_enough_to_calibrate() -> None:
    with pytest.raises(AssertionError, match="cannot calibrate on 1 windows"):
        _calibrate(np.zeros(1))


@PROPERTY
@given(st.lists(st.floats(-5, 5) | st.just(float("nan")), min_size=1, max_size=90))
def test_level_of_a_rule_is_the_newest_alarm_statistic(scores: list[float]) -> None:
    for rule in (RULE, Rule(30, 60, 0.5, 0.05)):
        assert rule.level(scores) == rule.statistic(np.array(scores))[-1]
