"""What every detector promises; whoever is in the registry is held to it."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.signal import JUDGED_SUBSYSTEMS
from detector.detectors.protocol import Detector, Layout
from detector.detectors.registry import registered
from detector.frame import Floats
from tests.detector.arrays import tables
from tests.detector.healthy import GROUPS, deviations, layout_of, members
from tests.properties import PROPERTY

FEATURES = 40
NAMES = sorted(registered())
every = pytest.mark.parametrize("name", NAMES)


@cache
def _fitted(name: str, rows: int = 300, features: int = FEATURES) -> tuple[Detector, Layout]:
    z = deviations(rows, features)
    layout = layout_of(z)
    return registered()[name].fit(z, layout), layout


@cache
def _usual(name: str) -> Floats:
    """Scores of the same host at another time, in order."""
    detector, _ = _fitted(name)
    return np.sort(detector.score(deviations(400, FEATURES, seed=1)).score)


def _check(detector: Detector, z: Floats) -> Floats:
    """The scores of z, once it is sure that they are sound."""
    scores = detector.score(z)
    assert scores.score.shape == (len(z),)
    assert scores.contribution.shape == z.shape
    assert np.isfinite(scores.score).all()
    assert np.all(scores.score >= 0.0)
    assert np.all(scores.contribution >= 0.0)
    assert np.allclose(scores.contribution.sum(axis=1), scores.score, rtol=1e-9)
    return scores.score


def test_registry_has_the_three_detectors_in_the_order_of_their_names() -> None:
    assert {"deviation", "subspace", "forest"} <= set(NAMES)
    assert [detector.name for detector in registered().values()] == NAMES
    assert all(detector.weight > 0 for detector in registered().values())


@every
def test_scores_are_finite_and_contributions_sum_to_them(name: str) -> None:
    detector, _ = _fitted(name)
    z = deviations(50, FEATURES, seed=2)
    for size in (0.0, 1.0, 1e3, 1e9):
        _check(detector, size * z)


@every
def test_quiet_and_empty_tables_are_scored(name: str) -> None:
    detector, _ = _fitted(name)
    assert _check(detector, np.zeros((0, FEATURES))).shape == (0,)
    assert _check(detector, np.zeros((1, FEATURES)))[0] <= _usual(name)[-1]


@every
@PROPERTY
@given(tables(st.floats(-1e6, 1e6), rows=(1, 3), columns=(FEATURES, FEATURES)))
def test_no_pattern_of_gaps_and_sizes_gives_an_unsound_score(name: str, z: Floats) -> None:
    detector, _ = _fitted(name)
    assert len(_check(detector, z)) == len(z)


@every
def test_fit_and_score_are_deterministic(name: str) -> None:
    z, other = deviations(200, FEATURES), deviations(50, FEATURES, seed=3)
    layout = layout_of(z)
    first, second = (registered()[name].fit(z, layout).score(other) for _ in range(2))
    assert np.array_equal(first.score, second.score)
    assert np.array_equal(first.contribution, second.contribution)


@every
def test_rows_do_not_depend_on_their_neighbours(name: str) -> None:
    detector, _ = _fitted(name)
    z = deviations(20, FEATURES, seed=4)
    together = detector.score(z)
    alone = [detector.score(row[None, :]) for row in z]
    assert np.allclose(together.score, [one.score[0] for one in alone], rtol=1e-9)
    assert np.allclose(together.contribution, [one.contribution[0] for one in alone], rtol=1e-6, atol=1e-9)


@every
def test_input_is_left_as_it_was(name: str) -> None:
    z = deviations(100, FEATURES)
    z[3, 4] = np.nan
    before = z.copy()
    registered()[name].fit(z, layout_of(z)).score(z)
    assert np.array_equal(z, before, equal_nan=True)


@every
def test_window_without_data_has_a_quiet_score(name: str) -> None:
    detector, _ = _fitted(name)
    assert _check(detector, np.full((1, FEATURES), np.nan))[0] <= np.median(_usual(name)) + 1e-12


@every
def test_masked_features_are_no_anomaly(name: str) -> None:
    detector, _ = _fitted(name)
    z = deviations(200, FEATURES, seed=5)
    masked = np.where(np.random.default_rng(6).random(z.shape) < 0.3, np.nan, z)
    assert np.quantile(_check(detector, masked), 0.95) <= np.quantile(_usual(name), 0.99)


@every
@pytest.mark.parametrize("group", range(GROUPS))
def test_subsystem_that_goes_missing_is_no_anomaly(name: str, group: int) -> None:
    detector, layout = _fitted(name)
    z = deviations(200, FEATURES, seed=7)
    z[:, layout.subsystem == group] = np.nan
    assert np.quantile(_check(detector, z), 0.95) <= np.quantile(_usual(name), 0.99)


@every
def test_constant_series_are_learned_and_their_movement_is_seen(name: str) -> None:
    z = deviations(300, FEATURES)
    z[:, 10:15] = 0.0
    layout = layout_of(z)
    detector = registered()[name].fit(z, layout)
    usual = _check(detector, z)
    moved = z[:20].copy()
    moved[:, 10:15] += 12.0
    assert np.median(_check(detector, moved)) > np.quantile(usual, 0.99)


@every
@pytest.mark.parametrize(("rows", "features"), [(300, 1), (300, 5), (300, 1000), (12, FEATURES)])
def test_any_size_of_table_can_be_learned(name: str, rows: int, features: int) -> None:
    detector, _ = _fitted(name, rows, features)
    z = deviations(40, features, seed=8)
    usual = np.median(_check(detector, z))
    assert np.median(_check(detector, z + 30.0)) > usual


@every
def test_two_windows_are_the_least_that_can_be_learned(name: str) -> None:
    detector, _ = _fitted(name, 2, FEATURES)
    assert len(_check(detector, deviations(40, FEATURES, seed=8))) == 40


@every
def test_baseline_without_any_usable_feature_can_be_learned(name: str) -> None:
    z = np.full((50, FEATURES), np.nan)
    detector = registered()[name].fit(z, layout_of(z))
    assert len(_check(detector, deviations(5, FEATURES))) == 5


@every
@pytest.mark.parametrize("group", range(GROUPS))
def test_shift_of_one_subsystem_exceeds_the_usual_and_is_blamed(name: str, group: int) -> None:
    detector, layout = _fitted(name)
    z = deviations(60, FEATURES, seed=9)
    z[:, members(layout, group, 4)] += 8.0
    exceeds = _check(detector, z)[:, None] > _usual(name)[None, :]
    assert exceeds.mean() > 0.85
    contribution = detector.score(z).contribution
    by_group = [contribution[:, layout.subsystem == number].sum() for number in range(GROUPS)]
    assert JUDGED_SUBSYSTEMS[int(np.argmax(by_group))] == JUDGED_SUBSYSTEMS[group]


@every
def test_larger_shift_never_scores_less(name: str) -> None:
    detector, layout = _fitted(name)
    z = np.zeros((30, FEATURES))
    z[:, members(layout, 2, 4)] = np.linspace(0.0, 60.0, 30)[:, None]
    assert np.all(np.diff(_check(detector, z)) >= -0.02)
    assert detector.score(z).score[-1] > detector.score(z).score[0]


@every
def test_arrays_hold_all_that_was_learned_without_a_pickle(name: str) -> None:
    detector, layout = _fitted(name)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **detector.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        restored = registered()[name].from_arrays(dict(arrays), layout)
    z = deviations(50, FEATURES, seed=10)
    z[::7, ::3] = np.nan
    assert np.array_equal(restored.score(z).score, detector.score(z).score)
    assert np.array_equal(restored.rate(z), detector.score(z).score)
    assert np.array_equal(restored.score(z).contribution, detector.score(z).contribution)


@every
def test_missing_array_is_named(name: str) -> None:
    detector, layout = _fitted(name)
    for missing in detector.to_arrays():
        rest = {key: array for key, array in detector.to_arrays().items() if key != missing}
        with pytest.raises(KeyError, match=missing):
            registered()[name].from_arrays(rest, layout)


@every
def test_what_is_learned_of_a_host_stays_small(name: str) -> None:
    detector, _ = _fitted(name, 1000, 200)
    assert sum(array.nbytes for array in detector.to_arrays().values()) < 1_000_000


@every
def test_order_of_the_columns_does_not_matter(name: str) -> None:
    z, other = deviations(300, FEATURES), deviations(50, FEATURES, seed=11)
    layout = layout_of(z)
    order = np.random.default_rng(12).permutation(FEATURES)
    place = np.argsort(order).astype(np.intp)
    moved = Layout(layout.subsystem[order], layout.subsystems, place[layout.independent], place[layout.distinct])
    one = registered()[name].fit(z, layout).score(other)
    another = registered()[name].fit(z[:, order], moved).score(other[:, order])
    assert np.allclose(one.score, another.score, rtol=1e-6)
    assert np.allclose(one.contribution[:, order], another.contribution, rtol=1e-6, atol=1e-6)
