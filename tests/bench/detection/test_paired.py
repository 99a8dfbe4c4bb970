from __future__ import annotations

import numpy as np
import pytest

from bench.detection.paired import BIN_S, paired_roc


def _runs(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Eight runs of 100 s, each with a fault in its middle; the score rises with time and a little in a fault."""
    draw = np.random.default_rng(seed)
    run, elapsed_s = np.repeat(np.arange(8), 100), np.tile(np.arange(100.0), 8)
    start, end = draw.integers(20, 50, 8)[run], draw.integers(55, 80, 8)[run]
    label = (elapsed_s >= start) & (elapsed_s < end)
    score = np.round(elapsed_s / 10 + draw.normal(0, 1, 800) + label, 1)
    return run, elapsed_s, label, score


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_of_different_runs_in_one_bin(seed: int) -> None:
    run, elapsed_s, label, score = _runs(seed)
    won = compared = 0.0
    for number in range(10):
        rows = np.flatnonzero(elapsed_s // BIN_S == number)
        if min(label[rows].sum(), (~label[rows]).sum()) < 3:
            continue
        for one in rows[label[rows]]:
            for other in rows[~label[rows]]:
                if run[one] != run[other]:
                    compared += 1
                    won += 1.0 if score[one] > score[other] else 0.5 if score[one] == score[other] else 0.0
    assert paired_roc(run, elapsed_s, label, score) == pytest.approx(won / compared)


def test_knowing_the_time_is_worth_nothing() -> None:
    figures = [paired_roc(*_runs(seed)[:3], _runs(seed)[1]) for seed in range(10)]
    assert np.mean(figures) == pytest.approx(0.5, abs=0.05)


def test_bins_with_too_few_of_a_kind_do_not_count() -> None:
    run, elapsed_s = np.arange(6), np.zeros(6)
    label = np.array([True, True, False, False, False, False])
    assert np.isnan(paired_roc(run, elapsed_s, label, np.arange(6.0)))
    label[2] = True
    assert paired_roc(run, elapsed_s, label, np.arange(6.0)) == 0.0


def test_missing_score_loses_to_any_other() -> None:
    run, elapsed_s, label = np.arange(6), np.zeros(6), np.arange(6) < 3
    assert paired_roc(run, elapsed_s, label, np.array([np.nan, 5.0, 5.0, 1.0, 1.0, 1.0])) == pytest.approx(2 / 3)
