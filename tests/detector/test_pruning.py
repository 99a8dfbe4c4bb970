"""Features that say the same are represented by one of them, and no other is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detector.frame import Floats
from detector.pruning import LEAST_COVERAGE, correlations, covered, group_by_correlation
from tests.detector import naive
from tests.detector.arrays import tables
from tests.properties import PROPERTY


def _related(seed: int, features: int) -> Floats:
    """Columns of which some move together."""
    generator = np.random.default_rng(seed)
    factors = generator.standard_normal((80, 3))
    mixed: Floats = factors @ generator.choice([0.0, 1.0], (3, features)) + 0.5 * generator.standard_normal(
        (80, features)
    )
    return mixed


@PROPERTY
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_correlations_are_those_of_numpy(seed: int, features: int) -> None:
    z = _related(seed, features)
    assert np.allclose(correlations(z), np.atleast_2d(np.corrcoef(z.T)), atol=1e-9)


def test_constant_column_is_related_to_itself_only() -> None:
    z = np.stack([np.full(10, 3.0), np.arange(10.0)], axis=1)
    assert correlations(z).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@PROPERTY
@given(tables(st.floats(-1e6, 1e6)))
def test_correlations_lie_between_minus_one_and_one_whatever_is_missing(z: Floats) -> None:
    r = correlations(z)
    assert np.array_equal(r, r.T)
    assert np.all(np.abs(r) <= 1.0)
    assert np.all(np.diag(r) == 1.0)


@PROPERTY
@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0.1, 0.95))
def test_groups_are_those_of_the_naive_loop(seed: int, features: int, above: float) -> None:
    r = correlations(_related(seed, features))
    usable = np.random.default_rng(seed).random(features) > 0.2
    groups = group_by_correlation(r, usable, above)
    leaders, group = naive.groups(r, usable, above)
    assert (groups.representatives.tolist(), groups.group.tolist()) == (leaders, group)


@PROPERTY
@given(st.integers(0, 10_000), st.floats(0.1, 0.95))
def test_each_usable_feature_is_remembered_by_a_related_representative(seed: int, above: float) -> None:
    r = correlations(_related(seed, 10))
    usable = np.random.default_rng(seed).random(10) > 0.2
    groups = group_by_correlation(r, usable, above)
    members = [groups.members(position) for position in range(len(groups.representatives))]
    assert sorted(int(member) for group in members for member in group) == np.flatnonzero(usable).tolist()
    for leader, group in zip(groups.representatives, members, strict=True):
        assert group[0] == leader
        assert np.all(np.abs(r[leader, group]) > above)
    among = np.abs(r[np.ix_(groups.representatives, groups.representatives)])
    assert np.all(among[~np.eye(len(among), dtype=bool)] <= above)


def test_opposite_movement_says_the_same() -> None:
    wave = np.sin(np.arange(50.0))
    r = correlations(np.stack([wave, -wave], axis=1))
    assert group_by_correlation(r, np.ones(2, dtype=bool), 0.9).representatives.tolist() == [0]


def test_feature_that_is_mostly_missing_is_not_used() -> None:
    z = np.zeros((100, 3))
    z[: int(100 * LEAST_COVERAGE), 1] = np.nan
    z[: int(100 * LEAST_COVERAGE) + 1, 2] = np.nan
    assert covered(z).tolist() == [True, True, False]
    assert covered(z[:0]).tolist() == [False] * 3


def test_without_usable_features_there_are_no_groups() -> None:
    groups = group_by_correlation(np.eye(3), np.zeros(3, dtype=bool), 0.5)
    assert (len(groups.representatives), groups.group.tolist()) == (0, [-1, -1, -1])
