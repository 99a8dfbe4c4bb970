"""Deviation: the robust z-scores of the few features of one subsystem that moved most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from detector.detectors.protocol import Detector, Layout, Scores, share_out
from detector.frame import Floats
from detector.high import high

TOP = 3
_LEAST_TYPICAL = 1.0


@dataclass(frozen=True, slots=True)
class Deviation(Detector):
    """Per subsystem the mean of its ``TOP`` largest |z| over what is usual for it; the worst subsystem counts.

    ``usual`` float64[G] is the high end of each subsystem's statistic, so that the one with most features
    does not win by chance.
    """

    name: ClassVar[str] = "deviation"
    weight: ClassVar[float] = 1.0
    least_range: ClassVar[float] = 2.0

    layout: Layout
    usual: Floats

    @classmethod
    def fit(cls, z: Floats, layout: Layout) -> Self:
        """See ``Detector``."""
        statistic, _ = top_means(np.abs(np.nan_to_num(z)), layout)
        return cls(layout, np.maximum(high(statistic), _LEAST_TYPICAL))

    def score(self, z: Floats) -> Scores:
        """See ``Detector``."""
        size = np.abs(np.nan_to_num(z))
        statistic, top = top_means(size, self.layout)
        relative = statistic / self.usual
        worst = relative.argmax(axis=1)
        rows = np.arange(len(z))
        score = relative[rows, worst]
        evidence = np.zeros_like(size)
        for group in range(len(self.layout.subsystems)):
            chosen = rows[worst == group]
            columns = top[group][chosen]
            evidence[chosen[:, None], columns] = size[chosen[:, None], columns]
        return Scores(score, share_out(score, evidence))

    def rate(self, z: Floats) -> Floats:
        """See ``Detector``."""
        statistic, _ = top_means(np.abs(np.nan_to_num(z)), self.layout)
        worst: Floats = (statistic / self.usual).max(axis=1)
        return worst

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """See ``Detector``."""
        return {"usual": self.usual}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], layout: Layout) -> Self:
        """See ``Detector``."""
        return cls(layout, arrays["usual"].astype(np.float64))


def top_means(size: Floats, layout: Layout) -> tuple[Floats, list[npt.NDArray[np.intp]]]:
    """Mean of the largest sizes [N, G] by subsystem among the independent features, and which columns they are."""
    statistic = np.zeros((len(size), len(layout.subsystems)))
    top: list[npt.NDArray[np.intp]] = []
    for group in range(len(layout.subsystems)):
        columns = layout.independent[layout.subsystem[layout.independent] == group]
        count = min(TOP, len(columns))
        order = np.argpartition(size[:, columns], len(columns) - count, axis=1)[:, len(columns) - count :]
        top.append(columns[order])
        if count:
            statistic[:, group] = np.take_along_axis(size, top[group], axis=1).mean(axis=1)
    return statistic, top
