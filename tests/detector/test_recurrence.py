"""Episodes are alike when the same signals show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detector.judge import DAY_S
from detector.recurrence import USUAL_FROM, Pattern, expected, shape_of, usual

FEATURES = 30


def _closed(
    moved: slice, subsystem: str = "memory", size: float = 20.0, features: int = FEATURES, first: str = "a"
) -> Pattern:
    z = np.random.default_rng(0).standard_normal((12, features))
    before = np.abs(z).mean(axis=0)
    z[:, moved] += size
    return Pattern(0.0, subsystem, tuple(f"{first}{number}" for number in range(features)), shape_of(z, before))


def test_same_signals_make_episodes_alike_however_far_they_move() -> None:
    one = _closed(slice(0, 5))
    assert np.linalg.norm(one.shape) == pytest.approx(1.0)
    assert one.like(one)
    assert one.like(_closed(slice(0, 5), size=35.0))
    assert not one.like(_closed(slice(5, 10)))
    assert not one.like(_closed(slice(0, 5), features=FEATURES + 1)), "devices came or went"
    assert not one.like(_closed(slice(0, 5), first="b")), "others came for those that went"


def test_one_signal_beyond_all_measure_is_not_all_that_counts() -> None:
    far = _closed(slice(0, 5))
    z = np.zeros((3, FEATURES))
    z[:, :5], z[:, 0] = 40.0, 1e9
    assert far.like(replace(far, shape=shape_of(z, np.zeros(FEATURES))))


def test_episode_in_which_nothing_moved_is_like_none() -> None:
    still = Pattern(0.0, "memory", tuple("abcd"), shape_of(np.full((3, 4), np.nan), np.ones(4)))
    assert not still.like(still)


def test_what_comes_often_enough_is_usual() -> None:
    same, other, elsewhere = _closed(slice(0, 5)), _closed(slice(5, 10)), _closed(slice(0, 5), "storage")
    assert not usual(same, [same] * (USUAL_FROM - 2) + [other, elsewhere] * 5)
    assert usual(same, [same] * (USUAL_FROM - 1))
    tomorrow = replace(same, onset_s=DAY_S)
    assert not usual(tomorrow, [same] * USUAL_FROM)


@pytest.mark.parametrize(
    ("days", "known"),
    [((1, 2), True), ((1.01, 6.99), True), ((2,), False), ((1, 1.02), False), ((1, 2.1), False), ((0, 0.01), False)],
)
def test_what_came_at_the_same_time_of_two_other_days_is_expected(days: tuple[float, ...], known: bool) -> None:
    now = replace(_closed(slice(0, 5)), onset_s=10 * DAY_S)
    told = [replace(_closed(slice(0, 5), "storage"), onset_s=(10 - day) * DAY_S) for day in days]
    assert expected(now, told) == known
    assert not expected(replace(_closed(slice(5, 10)), onset_s=10 * DAY_S), told)
