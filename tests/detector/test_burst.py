"""One burst is told from noise, from drift and from what keeps coming back."""

from __future__ import annotations

import numpy as np
import pytest

from detector.burst import ordinary
from detector.frame import Floats

ROWS = 200


def _scores(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).gamma(20.0, 0.05, (ROWS, 3))


@pytest.mark.parametrize("start", [0, 90, 192])
def test_one_burst_is_left_out_whole(start: int) -> None:
    raw = _scores()
    raw[start : start + 15] *= 20.0
    kept = ordinary(raw)
    assert not kept[start : start + 15].any()
    assert kept.sum() >= 0.75 * ROWS


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_kept(seed: int) -> None:
    assert ordinary(_scores(seed)).all()


def test_drift_is_kept() -> None:
    assert ordinary(_scores() * np.linspace(1.0, 3.0, ROWS)[:, None]).all()


def test_what_came_twice_may_come_again() -> None:
    raw = _scores()
    raw[40:50] *= 20.0
    raw[150:160] *= 20.0
    assert ordinary(raw).all()


def test_scores_of_nothing_are_kept() -> None:
    assert ordinary(np.zeros((ROWS, 3))).all()
