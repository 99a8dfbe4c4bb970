"""A model judges what it did not see: calibrated on held-out stretches, on whatever was there to learn from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from detector.calibration import Rule, alarm_statistic
from detector.detectors.registry import registered
from detector.features import Feature
from detector.frame import Floats
from detector.fusion import Smoothing
from detector.model import (
    FUSED,
    LASTING,
    MOST_DISTINCT,
    Model,
    Rating,
    covered_by,
    fit_model,
    fit_parts,
    judge,
    rate,
    unbroken,
)
from tests.detector.arrays import plain_features
from tests.detector.healthy import GROUPS, deviations

SUDDEN, LASTS = Rule(5, 10, 0.5, 0.05), Rule(30, 60, 0.5, 0.05)
FEATURES = 40


def _fit(
    x: Floats,
    features: tuple[Feature, ...] | None = None,
    maxima: Floats | None = None,
    flagged: npt.NDArray[np.bool_] | None = None,
) -> Model:
    maxima = np.empty(0) if maxima is None else maxima
    past = {FUSED: (SUDDEN, maxima), LASTING: (LASTS, maxima)}
    features = features or plain_features(x.shape[1])
    flagged = np.zeros(len(x), dtype=bool) if flagged is None else flagged
    return fit_model(np.arange(float(len(x))), x, flagged, features, 3.0, past, 1440.0, Smoothing())


def _rated(model: Model, x: Floats) -> Rating:
    return rate(model, judge(model, x).normalised)


@pytest.fixture(scope="module")
def model() -> Model:
    return _fit(10.0 * deviations(400, FEATURES))


def test_every_detector_and_the_fused_score_are_calibrated(model: Model) -> None:
    assert model.calibrations.keys() == {*registered(), FUSED}
    rating = _rated(model, 10.0 * deviations(5, FEATURES, seed=1))
    assert rating.scores.keys() == model.calibrations.keys()
    assert {score.shape for score in rating.scores.values()} == {(5,)}


def test_windows_of_the_same_host_exceed_the_bound_as_rarely_as_it_says(model: Model) -> None:
    rating = _rated(model, 10.0 * deviations(2000, FEATURES, seed=2))
    assert (rating.scores[FUSED] > 1.0).mean() < 0.02
    assert 0.4 < np.median(rating.p_value) < 0.6


def test_shift_exceeds_the_bound_of_every_detector(model: Model) -> None:
    x = 10.0 * deviations(50, FEATURES, seed=3)
    x[:, ::GROUPS] += 150.0
    rating = _rated(model, x)
    assert np.median(rating.scores[FUSED]) > 1.0
    assert np.median(rating.scores["deviation"]) > 1.0
    assert np.median(rating.scores["subspace"]) > 1.0


def test_flagged_windows_are_no_measure_of_the_others() -> None:
    x = 10.0 * deviations(600, FEATURES)
    flagged = np.zeros(600, dtype=bool)
    for number, start in enumerate((100, 250, 500)):
        flagged[start : start + 20] = True
        x[start : start + 20, number::GROUPS] += 1500.0
    deaf, hearing = _fit(x), _fit(x, flagged=flagged)
    other = 10.0 * deviations(50, FEATURES, seed=3)
    other[:, 3::GROUPS] += 150.0
    medians = [float(np.median(_rated(one, other).scores[FUSED])) for one in (deaf, hearing)]
    assert medians[0] < 1.0 < medians[1]


def test_window_without_data_has_no_score_and_no_coverage(model: Model) -> None:
    x = np.full((1, FEATURES), np.nan)
    rating = rate(model, judge(model, x).normalised)
    assert covered_by(model, x).tolist() == [0.0]
    assert np.isnan(rating.p_value).all()
    assert all(np.isnan(score).all() for score in rating.scores.values())


def test_coverage_is_the_share_of_features_with_data(model: Model) -> None:
    x = deviations(1, FEATURES)
    x[0, model.parts.layout.distinct[:10]] = np.nan
    assert np.isclose(covered_by(model, x)[0], 1.0 - 10 / len(model.parts.layout.distinct))
    judgement = judge(model, x)
    assert judgement.coverage.tolist() == covered_by(model, x).tolist()
    assert judgement.x is x


def test_fit_is_deterministic() -> None:
    x = deviations(120, 10)
    one, other = (_rated(_fit(x), deviations(20, 10, seed=1)) for _ in range(2))
    assert np.array_equal(one.fused, other.fused)
    assert np.array_equal(one.scores[FUSED], other.scores[FUSED])


def test_bound_comes_from_windows_that_the_detectors_did_not_see() -> None:
    # More features than windows: what was learned fits itself perfectly, and anything new looks anomalous to it.
    x = deviations(60, 300)
    rating = _rated(_fit(x), deviations(200, 300, seed=1))
    assert (rating.scores[FUSED] > 1.0).mean() < 0.05


def test_missing_and_constant_columns_do_not_stop_a_fit() -> None:
    x = deviations(120, 12)
    x[:, 3] = np.nan
    x[:, 4] = 7.0
    x[:80, 5] = np.nan
    model = _fit(x)
    assert 3 not in model.parts.layout.distinct
    assert 5 not in model.parts.layout.distinct
    assert np.isfinite(_rated(model, x).scores[FUSED]).all()


def test_one_feature_is_enough() -> None:
    x = deviations(100, 1)
    rating = _rated(_fit(x), np.array([[0.0], [60.0]]))
    assert rating.scores[FUSED][0] < 1.0 < rating.scores[FUSED][1]


def test_subspace_sees_a_bounded_number_of_features() -> None:
    parts = fit_parts(
        np.random.default_rng(0).standard_normal((60, MOST_DISTINCT + 100)), plain_features(MOST_DISTINCT + 100)
    )
    assert len(parts.layout.distinct) == MOST_DISTINCT


def test_enough_quiet_minutes_end_the_provisional_phase() -> None:
    x = deviations(120, 10)
    assert _fit(x).fused.provisional
    assert not _fit(x, maxima=np.random.default_rng(0).exponential(0.2, 600)).fused.provisional


def test_stretches_are_numbered_by_the_gaps_between_them() -> None:
    assert unbroken(np.array([0.0, 1.0, 2.0, 9.0, 10.0, 30.0])).tolist() == [0, 0, 0, 1, 1, 2]
    assert unbroken(np.array([5.0])).tolist() == [0]


def _with_burst(columns: slice) -> tuple[Model, Model, Floats]:
    """A model of a quiet baseline, one of a baseline with a burst of ten windows, and the windows of such a burst."""
    calm = 10.0 * deviations(100, FEATURES)
    burst = 10.0 * deviations(10, FEATURES, seed=5)
    burst[:, columns] += 300.0
    baseline = calm.copy()
    baseline[45:55] = burst
    return _fit(calm), _fit(baseline), burst


def test_one_burst_in_the_baseline_does_not_blind_to_what_is_unlike_it() -> None:
    quiet, dirty, _ = _with_burst(slice(0, FEATURES, GROUPS))
    shifted = 10.0 * deviations(30, FEATURES, seed=6)
    shifted[:, 1::GROUPS] += 150.0
    scores = {name: np.median(_rated(model, shifted).scores[FUSED]) for name, model in (("q", quiet), ("d", dirty))}
    assert min(scores.values()) > 1.0, scores


def test_burst_that_the_model_has_seen_raises_no_alarm() -> None:
    _, dirty, burst = _with_burst(slice(0, FEATURES, GROUPS))
    level = alarm_statistic(_rated(dirty, burst).scores[FUSED], SUDDEN.votes, SUDDEN.of).max()
    assert level <= 1.0
