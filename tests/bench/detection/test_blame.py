from __future__ import annotations

import numpy as np
import pytest

from bench.detection.blame import blamed, hit_rate


def test_hit_rate_looks_at_as_many_columns_as_are_true() -> None:
    truth = np.array([True, True, True, False, False, False])
    evidence = np.array([9.0, 1.0, 7.0, 8.0, 6.0, 0.0])
    assert hit_rate(truth, evidence, 100) == pytest.approx(2 / 3)  # of columns 0, 3 and 2
    assert hit_rate(truth, evidence, 150) == pytest.approx(2 / 3)  # floor of four and a half: and column 4
    assert hit_rate(truth, evidence, 200) == 1.0


def test_evidence_and_shares_are_summed_over_a_segment() -> None:
    evidence = np.zeros((20, 4), dtype=np.float32)
    evidence[5:10, 0], evidence[5, 3], evidence[0:5, 2] = 1.0, 4.0, 100.0
    shares = np.tile([0.9, 0.1], (20, 1))
    shares[5:8] = [0.0, 1.0]
    owner = np.array([[True, True, False, False], [False, False, True, True]])
    truth = np.array([[True, False, False, False]])
    figures = blamed(np.array([[5, 10]]), truth, evidence, shares, owner)
    assert (figures.hr100, figures.hr150, figures.rc3) == (1.0, 1.0, 1.0)
    assert figures.subsystem_at_1 == 0.0  # the second subsystem leads, and column 0 is the first one's
    assert blamed(np.array([[8, 20]]), truth, evidence, shares, owner).subsystem_at_1 == 1.0


def test_figures_are_means_over_segments_with_a_known_truth() -> None:
    evidence = np.tile(np.array([3.0, 2.0, 1.0, 0.0], dtype=np.float32), (10, 1))
    truth = np.array([[True, False, False, False], [False, False, False, True], [False] * 4])
    figures = blamed(
        np.array([[0, 2], [3, 5], [6, 8]]), truth, evidence, np.ones((10, 1)), np.zeros((1, 4), dtype=bool)
    )
    assert (figures.hr100, figures.rc3) == (0.5, 0.5)
    assert np.isnan(figures.subsystem_at_1)


def test_nothing_known_is_no_figure() -> None:
    nothing = blamed(
        np.empty((0, 2), dtype=np.intp), np.empty((0, 3), dtype=bool), np.zeros((5, 3), dtype=np.float32),
        np.ones((5, 1)), np.ones((1, 3), dtype=bool),
    )  # fmt: skip
    assert np.isnan([nothing.hr100, nothing.hr150, nothing.rc3, nothing.subsystem_at_1]).all()
