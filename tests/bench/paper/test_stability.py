from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import permutation_test

from bench.paper import stability
from detector.frame import Floats

Numbers = npt.NDArray[np.intp]
_NOISE = np.random.default_rng(1)


def _distance(runs: int) -> Floats:
    return stability.distances(_NOISE.normal(size=(runs, 5)))


def _statistic(distance: Floats, mine: Numbers) -> float:
    chosen = np.isin(np.arange(len(distance)), mine).astype(np.float64)[None, :]
    within, between = stability.apart(distance, chosen)
    return float(between[0] - within[0])


@pytest.mark.parametrize("workloads", [2, 3])
def test_p_value_is_that_of_scipys_exact_permutation_test_within_turns(workloads: int) -> None:
    turns: Numbers = np.repeat(np.arange(4), workloads)
    distance, runs = _distance(len(turns)), np.arange(len(turns)).reshape(4, workloads)
    theirs = permutation_test(
        list(runs.T),
        lambda mine, *_: _statistic(distance, mine),
        permutation_type="samples", n_resamples=10_000, alternative="greater", vectorized=False,
    )  # fmt: skip
    chosen = stability.choices(turns, 1000, np.random.default_rng(0))
    within, between = stability.apart(distance, chosen)
    assert len(chosen) == stability.many_choices(turns) == workloads**4
    ours = stability.p_value(_statistic(distance, runs[:, 0]), between - within, exact=True)
    assert ours == pytest.approx(theirs.pvalue)


def test_random_choices_come_near_the_exact_p_value() -> None:
    turns: Numbers = np.repeat(np.arange(6), 4)
    distance = _distance(len(turns))
    observed = _statistic(distance, np.arange(0, len(turns), 4))
    p = {}
    for most, exact in ((4096, True), (2000, False)):
        within, between = stability.apart(distance, stability.choices(turns, most, np.random.default_rng(0)))
        p[exact] = stability.p_value(observed, between - within, exact)
    assert p[False] == pytest.approx(p[True], abs=0.04)


def test_distances_within_and_between_are_means_over_pairs() -> None:
    distance = np.abs(np.subtract.outer([0.0, 2.0, 10.0, 11.0], [0.0, 2.0, 10.0, 11.0]))
    within, between = stability.apart(distance, np.array([[1.0, 1.0, 0.0, 0.0]]))
    assert (within[0], between[0]) == (2.0, pytest.approx((10 + 11 + 8 + 9) / 4))


def _profiles(levels: list[float], metrics: int = 6) -> Floats:
    runs = [_NOISE.normal(level, 0.1, size=(200, metrics)) for level in levels]
    return np.stack([stability.profile(run) for run in runs])


_TURNS: Numbers = np.repeat(np.arange(5), 3)


def test_workloads_that_differ_are_told_apart_in_every_metric() -> None:
    found = stability.stability(_profiles([0.0, 3.0, 9.0] * 5), list("abc" * 5), _TURNS, 999)
    assert (found.share, found.pairs, found.metrics) == (1.0, 18, 6)
    assert found.ratio < 0.1


def test_workloads_are_told_apart_on_a_host_that_drifts_more_than_they_differ() -> None:
    levels = [level + 5.0 * turn for turn, level in zip(_TURNS, [0.0, 0.0, 3.0] * 5, strict=True)]
    assert stability.stability(_profiles(levels), list("abc" * 5), _TURNS, 999).share > 0.3


def test_names_without_meaning_are_significant_as_often_as_by_chance() -> None:
    found = stability.stability(_profiles([0.0] * 15, 100), list("abc" * 5), _TURNS, 999)
    assert found.share < 0.12
    assert found.chance_share < 0.12
    assert found.ratio == pytest.approx(1.0, abs=0.1)


def test_metric_that_never_changes_or_is_missing_says_nothing() -> None:
    profiles = _profiles([0.0, 3.0] * 3, 3)
    profiles[:, :, 0], profiles[2, :, 1] = 7.0, np.nan
    assert stability.stability(profiles, list("ab" * 3), np.repeat(np.arange(3), 2), 100).metrics == 1


def test_few_gaps_in_a_run_do_not_take_a_metric_away() -> None:
    values = np.arange(100.0)[:, None] * [1.0, 1.0]
    values[::4, 0], values[:60, 1] = np.nan, np.nan
    found = stability.profile(values)
    assert found[0, 0] == pytest.approx(5.0, abs=1.5)
    assert np.isnan(found[:, 1]).all()
