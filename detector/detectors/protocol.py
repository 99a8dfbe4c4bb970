"""What a detector is: fitted on scaled deviations of a healthy host, it says how unusual other windows are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from catalog.found import Found
from detector.frame import Floats


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of ``z`` are.

    ``subsystem`` intp[F] into ``subsystems``; ``independent`` and ``distinct`` intp[]: the columns that are left when
    those with |r| above 0.9 and 0.95 are represented by one, at most 200 of the latter.
    """

    subsystem: npt.NDArray[np.intp]
    subsystems: tuple[str, ...]
    independent: npt.NDArray[np.intp]
    distinct: npt.NDArray[np.intp]

    def __post_init__(self) -> None:
        assert self.subsystem.ndim == 1, "one subsystem a feature"
        assert np.all(self.subsystem < len(self.subsystems)), "a subsystem number is out of range"


@dataclass(frozen=True, slots=True)
class Scores:
    """``score`` float64[N], 0 or more, higher is worse; ``contribution`` float64[N, F]: its rows sum to the score."""

    score: Floats
    contribution: Floats


class Detector(Found):
    """One way of telling the unusual from the usual. ``z`` is float64[N, F], NaN = missing: it counts as typical."""

    weight: ClassVar[float]
    """In the fused score; chosen by measurement, see docs/detection.md."""
    least_range: ClassVar[float]
    """How far above the usual score a window is not yet far out, however evenly a baseline scored; in usual scores."""

    @classmethod
    @abstractmethod
    def fit(cls, z: Floats, layout: Layout) -> Self:
        """Learn from the deviations of a healthy host, at least two rows."""

    @abstractmethod
    def score(self, z: Floats) -> Scores:
        """Judge windows of any number."""

    def rate(self, z: Floats) -> Floats:
        """The scores float64[N] alone: what judging needs, where contributions cost more than the score."""
        return self.score(z).score

    @abstractmethod
    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """All that was learned, as plain arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], layout: Layout) -> Self:
        """The inverse of ``to_arrays``; raises KeyError where an array is missing."""


def share_out(score: Floats, evidence: Floats) -> Floats:
    """Contributions [N, F] in proportion to non-negative evidence [N, F] that sum to score [N]."""
    total = evidence.sum(axis=1, keepdims=True)
    equal = np.full_like(evidence, 1.0 / max(1, evidence.shape[1]))
    shares: Floats = np.divide(evidence, total, out=equal, where=total > 0)
    return score[:, None] * shares
