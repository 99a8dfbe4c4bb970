"""The high end of the usual: the 99th percentile, unless one burst could set that."""

from __future__ import annotations

import numpy as np

from detector.high import high


def test_with_many_windows_it_is_the_99th_percentile() -> None:
    values = np.random.default_rng(1).standard_normal((5000, 3))
    assert np.allclose(high(values), np.percentile(values, 99, axis=0))


def test_burst_in_a_short_baseline_does_not_set_it() -> None:
    values = np.linspace(0.0, 1.0, 100)
    values[40:48] = 1000.0
    assert high(values) <= 1.0


def test_of_a_handful_it_is_the_median() -> None:
    assert high(np.array([1.0, 2.0, 9.0])) == 2.0
