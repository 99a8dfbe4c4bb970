from __future__ import annotations

import numpy as np
import pytest

from bench.detection.events import Bools
from bench.paper import overlap


def _flags(*stretches: tuple[int, int], length: int = 40) -> Bools:
    flags = np.zeros(length, dtype=bool)
    for start, end in stretches:
        flags[start:end] = True
    return flags


def test_intersection_over_union_of_half_overlapping_alarms_is_a_third() -> None:
    assert overlap.iou(_flags((0, 4)), _flags((2, 6))) == pytest.approx(1 / 3)
    assert overlap.iou(_flags((0, 4)), _flags((0, 4))) == 1.0
    assert np.isnan(overlap.iou(_flags(), _flags()))


def test_hit_rate_is_the_share_of_stretches_that_are_met() -> None:
    found = overlap.agreement(_flags((0, 4), (10, 12), (20, 30)), _flags((3, 5), (29, 40)))
    assert found.hit_rate == pytest.approx(2 / 3)
    assert np.isnan(overlap.agreement(_flags(), _flags((0, 1))).hit_rate)


def test_chance_is_the_mean_over_all_shifts() -> None:
    random = np.random.default_rng(3)
    first, second = random.random((2, 97)) < 0.2
    shifted = [np.roll(second, shift) for shift in range(97)]
    found = overlap.agreement(first, second)
    assert found.chance_iou == pytest.approx(np.mean([overlap.iou(first, other) for other in shifted]))
    hits = [overlap.agreement(first, other).hit_rate for other in shifted]
    assert found.chance_hit_rate == pytest.approx(np.mean(hits))


def test_alarms_that_are_always_on_are_met_by_chance_alone() -> None:
    found = overlap.agreement(_flags((0, 40)), _flags((5, 7)))
    assert (found.hit_rate, found.chance_hit_rate) == (1.0, 1.0)
    assert found.iou == found.chance_iou == pytest.approx(2 / 40)


def test_flagged_windows_paint_the_time_that_they_cover() -> None:
    grid_s = np.arange(0.5, 10.5, 0.5)
    flags = np.array([False, True, True, False])
    found = overlap.painted(flags, np.array([3.0, 4.0, 5.0, 9.0]), 3.0, grid_s)
    assert grid_s[found].tolist() == pytest.approx(np.arange(1.5, 5.5, 0.5))
