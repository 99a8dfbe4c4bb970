from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from bench.detection.points import rank
from detector.fusion import causal_mean
from tests.bench.detection.made import Bools, Floats, labelled_scores


def _naive_f1(label: Bools, score: Floats) -> float:
    best = 0.0
    for threshold in np.unique(score):
        flagged = score >= threshold
        best = max(best, 2 * float((flagged & label).sum()) / float(flagged.sum() + label.sum()))
    return best


@pytest.mark.parametrize("decimals", [1, 8], ids=["many-ties", "no-ties"])
@pytest.mark.parametrize("seed", range(5))
def test_ranking_is_that_of_naive_formulas_and_of_scikit_learn(seed: int, decimals: int) -> None:
    label, score = labelled_scores(seed, 300, decimals)
    ranking = rank(label, score)
    assert ranking.f1 == pytest.approx(_naive_f1(label, score))
    assert ranking.ap == pytest.approx(average_precision_score(label, score))
    assert ranking.roc == pytest.approx(roc_auc_score(label, score))


def test_perfect_score_has_all_figures_at_one() -> None:
    label = np.array([False, True, True, False])
    ranking = rank(label, np.array([0.1, 0.9, 0.8, 0.2]))
    assert (ranking.f1, ranking.ap, ranking.roc) == (1.0, 1.0, 1.0)


def test_missing_score_ranks_below_all_others() -> None:
    label = np.array([True, False, False, True])
    with_gap = rank(label, np.array([3.0, np.nan, 1.0, 2.0]))
    assert with_gap == rank(label, np.array([3.0, -9.0, 1.0, 2.0]))


@pytest.mark.parametrize("value", [False, True])
def test_labels_of_one_kind_cannot_be_ranked(value: bool) -> None:
    ranking = rank(np.full(5, value), np.arange(5.0))
    assert np.isnan([ranking.f1, ranking.ap, ranking.roc]).all()


def test_causal_mean_looks_back_only_and_not_beyond_the_start() -> None:
    values = np.array([1.0, 3.0, 8.0, np.nan, 4.0])
    naive = [np.nan_to_num(values[max(0, row - 2) : row + 1]).mean() for row in range(5)]
    assert causal_mean(values, 3) == pytest.approx(naive)
    assert causal_mean(values[:3], 1) == pytest.approx(values[:3])
