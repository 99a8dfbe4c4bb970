"""What comes again and again: episodes of one day that are alike, or of the same time of several days.

A healthy host has jobs that no baseline saw, and whoever is paged by the same harmless one each hour reads no page. But
two faults of one subsystem need not have anything to do with each other: alike are those that the same signals show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detector.attribution import MOST_DEVIATION, contrast
from detector.frame import Floats
from detector.judge import DAY_S
from detector.training import Float32s

USUAL_FROM = 3  # episodes of a day that are alike: what they show is usual
EXPECTED_FROM, SAME_TIME_S = 2, 1800.0  # days on which the like of it was told, so far from the same time of the day
ALIKE = 0.8  # cosine


@dataclass(frozen=True, slots=True)
class Pattern:
    """An episode: when it began, what was blamed, and which features moved how much, a unit vector float32[F]."""

    onset_s: float
    subsystem: str
    names: tuple[str, ...]
    shape: Float32s

    def like(self, other: Pattern) -> bool:
        """Whether the same signals show both."""
        if self.names != other.names:
            return False  # devices came or went: what moved cannot be compared
        return float(self.shape @ other.shape) >= ALIKE


def shape_of(z: Floats, before: Floats) -> Float32s:
    """How an episode's deviations ``z`` [N, F] differ from the mean |deviation| float64[F] of the time before it."""
    size = np.minimum(np.abs(np.nan_to_num(z)), MOST_DEVIATION).mean(axis=0)
    moved = contrast(size, np.minimum(before, MOST_DEVIATION))
    shape: Float32s = (moved / max(float(np.linalg.norm(moved)), 1e-9)).astype(np.float32)
    return shape


def usual(newest: Pattern, earlier: Sequence[Pattern]) -> bool:
    """Whether enough of the earlier ones are of its day, blamed on the same and like the newest."""
    of_the_day = (each for each in earlier if newest.onset_s - each.onset_s < DAY_S)
    return 1 + sum(newest.subsystem == each.subsystem and newest.like(each) for each in of_the_day) >= USUAL_FROM


def expected(newest: Pattern, earlier: Sequence[Pattern]) -> bool:
    """Whether the like of it began at this time of enough other days; who is blamed for something small may vary."""
    days = {_days_ago(newest.onset_s - each.onset_s) for each in earlier if newest.like(each)}
    return len(days - {0}) >= EXPECTED_FROM


def _days_ago(ago_s: float) -> int:
    """How many days, where it was at the same time of the day; else 0."""
    days = round(ago_s / DAY_S)
    return days if abs(ago_s - days * DAY_S) <= SAME_TIME_S else 0
