"""What comes again and again: episodes of one day that are alike.

A healthy host has jobs that no baseline saw, and whoever is paged by the same harmless one each hour reads no page. But
two faults of one subsystem need not have anything to do with each other: alike are those that the same signals show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detector.attribution import MOST_DEVIATION, contrast
from detector.frame import Floats
from detector.training import Float32s

USUAL_FROM = 3  # episodes of a day that are alike: what they show is usual
ALIKE = 0.8  # cosine


@dataclass(frozen=True, slots=True)
class Closed:
    """An episode that is over: what was blamed, and which features moved how much, a unit vector float32[F]."""

    end_s: float
    subsystem: str
    names: tuple[str, ...]
    shape: Float32s

    def like(self, other: Closed) -> bool:
        """Whether the same signals show both."""
        if self.subsystem != other.subsystem or self.names != other.names:
            return False  # devices came or went: what moved cannot be compared
        return float(self.shape @ other.shape) >= ALIKE


def shape_of(z: Floats, before: Floats) -> Float32s:
    """How an episode's deviations ``z`` [N, F] differ from the mean |deviation| float64[F] of the time before it."""
    size = np.minimum(np.abs(np.nan_to_num(z)), MOST_DEVIATION).mean(axis=0)
    moved = contrast(size, np.minimum(before, MOST_DEVIATION))
    shape: Float32s = (moved / max(float(np.linalg.norm(moved)), 1e-9)).astype(np.float32)
    return shape


def usual(newest: Closed, earlier: Sequence[Closed]) -> bool:
    """Whether enough of the earlier ones are like the newest."""
    return 1 + sum(newest.like(each) for each in earlier) >= USUAL_FROM
