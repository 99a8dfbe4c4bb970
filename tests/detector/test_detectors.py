"""Each detector's numbers against a reference: plain loops, scipy, scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest

from detector.detectors.deviation import Deviation
from detector.detectors.forest import ROWS_PER_TREE, SUMMARIES, TREES, Forest, excess, grown, summaries
from detector.detectors.protocol import Layout, share_out
from detector.detectors.subspace import FIT_CLIP, MOST_COMPONENTS, REFERENCE_QUANTILE, Subspace
from detector.frame import Floats
from detector.high import high
from tests.detector import naive
from tests.detector.healthy import GROUPS, deviations, layout_of


@pytest.fixture(scope="module")
def baseline() -> Floats:
    return np.clip(deviations(300, 30), -FIT_CLIP, FIT_CLIP)


@pytest.fixture(scope="module")
def layout(baseline: Floats) -> Layout:
    return layout_of(baseline)


@pytest.fixture(scope="module")
def others() -> Floats:
    return 2.0 * deviations(40, 30, seed=1)


def _own(layout: Layout, group: int) -> list[int]:
    return [int(column) for column in layout.independent if layout.subsystem[column] == group]


def test_deviation_is_the_worst_subsystems_mean_of_its_largest(
    baseline: Floats, layout: Layout, others: Floats
) -> None:
    scores = Deviation.fit(baseline, layout).score(others)
    usual = [
        max(1.0, float(high(np.array([naive.top_mean(np.abs(row[_own(layout, group)]), 3) for row in baseline]))))
        for group in range(GROUPS)
    ]
    for row, score in zip(others, scores.score, strict=True):
        means = [naive.top_mean(np.abs(row[_own(layout, group)]), 3) for group in range(GROUPS)]
        relative = [mean / most for mean, most in zip(means, usual, strict=True)]
        assert np.isclose(score, max(relative), rtol=1e-9)


def test_deviation_credits_only_the_features_that_made_the_score(layout: Layout, baseline: Floats) -> None:
    z = np.zeros((1, 30))
    first, second, *_ = _own(layout, 1)
    z[0, [first, second]] = [9.0, -3.0]
    scores = Deviation.fit(baseline, layout).score(z)
    assert np.flatnonzero(scores.contribution[0]).tolist() == [first, second]
    assert np.isclose(scores.contribution[0, first], 3 * scores.contribution[0, second])


def test_t2_is_the_mahalanobis_distance_in_the_subspace(baseline: Floats, layout: Layout, others: Floats) -> None:
    subspace = Subspace.fit(baseline, layout)
    count = len(subspace.components)
    reference = PCA(n_components=count, svd_solver="full").fit(baseline[:, layout.distinct])
    inverse = np.linalg.inv(np.cov(reference.transform(baseline[:, layout.distinct]).T))
    expected = [
        mahalanobis(row, np.zeros(count), inverse) ** 2 for row in reference.transform(others[:, layout.distinct])
    ]
    assert 1 < count <= MOST_COMPONENTS
    assert np.allclose(subspace.statistics(others)[0], expected, rtol=1e-6)


def test_spe_is_what_the_principal_components_do_not_rebuild(baseline: Floats, layout: Layout, others: Floats) -> None:
    subspace = Subspace.fit(baseline, layout)
    reference = PCA(n_components=len(subspace.components), svd_solver="full").fit(baseline[:, layout.distinct])
    known = others[:, layout.distinct]
    residual = known - reference.inverse_transform(reference.transform(known))
    assert np.allclose(subspace.statistics(others)[1] * subspace.usual, residual**2, atol=1e-9)


def test_subspace_score_is_the_mean_of_both_distances(baseline: Floats, layout: Layout, others: Floats) -> None:
    subspace = Subspace.fit(baseline, layout)
    t2, parts = subspace.statistics(others)
    expected = np.mean(
        [np.sqrt(t2 / subspace.reference[0]), np.sqrt(parts.sum(axis=1) / subspace.reference[1])], axis=0
    )
    assert np.allclose(subspace.score(others).score, expected)
    inside, _ = subspace.statistics(baseline)
    assert np.isclose(np.quantile(inside, REFERENCE_QUANTILE), subspace.reference[0])


def test_burst_in_the_baseline_does_not_blind_the_subspace(baseline: Floats, layout: Layout) -> None:
    column = int(layout.distinct[3])
    burst = baseline.copy()
    burst[100:102, column] = 1e4
    fault = np.zeros((1, 30))
    fault[0, column] = 50.0
    clean, dirty = Subspace.fit(baseline, layout), Subspace.fit(burst, layout)
    assert dirty.score(fault).score[0] > 0.5 * clean.score(fault).score[0]


def test_missing_feature_has_no_part_in_the_residual(baseline: Floats, layout: Layout) -> None:
    z = deviations(10, 30, seed=2)
    z[:, layout.distinct[2]] = np.nan
    assert np.all(Subspace.fit(baseline, layout).statistics(z)[1][:, 2] == 0.0)


def test_constant_baseline_has_no_components_and_still_sees_movement() -> None:
    still = np.zeros((50, 10))
    subspace = Subspace.fit(still, layout_of(still))
    assert len(subspace.components) == 0
    assert subspace.score(np.eye(10)[:1] * 9.0).score[0] > subspace.score(still[:1]).score[0]


@pytest.mark.parametrize("rows", [12, 100, 300])
def test_flattened_forest_scores_as_its_trees_do(rows: int, others: Floats) -> None:
    z = deviations(rows, 30)
    layout = layout_of(z)
    typical = np.median(summaries(z, layout), axis=0)
    per_tree = min(ROWS_PER_TREE, rows)
    trees = grown(excess(summaries(z, layout), typical), per_tree)
    x = excess(summaries(others, layout), typical).astype(np.float32)
    lengths = []
    for tree in trees:
        left_over = tree.tree_.n_node_samples[tree.apply(x)]
        steps = np.asarray(tree.decision_path(x).sum(axis=1)).ravel() - 1
        lengths.append(steps + [_search_length(int(count)) for count in left_over])
    expected = 2.0 ** (-np.mean(lengths, axis=0) / _search_length(per_tree))
    assert np.abs(Forest.fit(z, layout).score(others).score - expected).max() < 1e-9


def _search_length(rows: int) -> float:
    """Equation 1 of Liu, Ting & Zhou."""
    if rows <= 2:
        return float(rows - 1)
    return float(2.0 * (np.log(rows - 1.0) + np.euler_gamma) - 2.0 * (rows - 1.0) / rows)


@pytest.mark.parametrize("rows", [12, 100, 300])
def test_forest_scores_as_scikit_learns_but_for_the_draw(rows: int, others: Floats) -> None:
    z = deviations(rows, 30)
    layout = layout_of(z)
    typical = np.median(summaries(z, layout), axis=0)
    model = IsolationForest(n_estimators=TREES, max_samples=min(ROWS_PER_TREE, rows), random_state=0)
    model.fit(excess(summaries(z, layout), typical))
    expected = -model.score_samples(excess(summaries(others, layout), typical))
    found = Forest.fit(z, layout).score(others).score
    assert np.corrcoef(found, expected)[0, 1] > 0.95
    assert abs(float((found - expected).mean())) < 0.02


def test_summaries_are_those_of_plain_loops(layout: Layout, others: Floats) -> None:
    table = summaries(others, layout).reshape(len(others), GROUPS, SUMMARIES)
    for row, found in zip(others, table, strict=True):
        for group in range(GROUPS):
            own = row[_own(layout, group)]
            size = np.abs(own)
            expected = [np.log1p(size.mean()), np.log1p(naive.top_mean(size, 3)), np.log1p(size.max())]
            assert np.allclose(found[group, :3], expected)
            assert np.isclose(found[group, 3], np.sign(own.mean()) * np.log1p(abs(own.mean())))


def test_subsystem_without_features_has_summaries_of_zero() -> None:
    z = deviations(20, 3)
    table = summaries(z, layout_of(z)).reshape(20, GROUPS, SUMMARIES)
    assert np.all(table[:, 3:] == 0.0)
    assert np.all(table[:, 0, 0] > 0.0)


def test_score_is_shared_out_in_proportion_and_evenly_without_evidence() -> None:
    shared = share_out(np.array([6.0, 3.0]), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    assert shared.tolist() == [[2.0, 4.0, 0.0], [1.0, 1.0, 1.0]]


def test_layout_refuses_a_subsystem_out_of_range() -> None:
    with pytest.raises(AssertionError, match="out of range"):
        Layout(np.array([5], dtype=np.intp), ("cpu",), np.array([0], dtype=np.intp), np.array([0], dtype=np.intp))
