"""Pruning: features that say the same are represented by one of them, which remembers the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

LEAST_COVERAGE = 0.5  # of the baseline's windows must have had a value


@dataclass(frozen=True, slots=True)
class Groups:
    """``representatives`` intp[R] of F features; ``group`` intp[F]: whose each one is, -1 if dropped."""

    representatives: npt.NDArray[np.intp]
    group: npt.NDArray[np.intp]

    def members(self, position: int) -> npt.NDArray[np.intp]:
        """The features that representative number ``position`` stands for, itself first."""
        leader = self.representatives[position]
        others = np.flatnonzero(self.group == position)
        return np.concatenate([[leader], others[others != leader]])


def correlations(z: Floats) -> Floats:
    """Pearson's r [F, F] of the columns of ``z`` [N, F]; gaps count as typical, a constant column has r = 0."""
    filled = np.nan_to_num(z)
    centred = filled - filled.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 1e-9)
    r: Floats = unit.T @ unit
    np.fill_diagonal(r, 1.0)
    return np.clip(r, -1.0, 1.0)


def covered(z: Floats) -> npt.NDArray[np.bool_]:
    """Which columns of ``z`` [N, F] had a value in enough windows."""
    return (~np.isnan(z)).mean(axis=0) >= LEAST_COVERAGE if len(z) else np.zeros(z.shape[1], dtype=bool)


def group_by_correlation(r: Floats, usable: npt.NDArray[np.bool_], above: float) -> Groups:
    """Greedy grouping in column order: the first feature in no group leads all that have |r| > ``above``."""
    group = np.full(len(r), -1, dtype=np.intp)
    representatives: list[int] = []
    related = np.abs(r) > above
    for index in np.flatnonzero(usable):
        if group[index] < 0:
            group[related[index] & usable & (group < 0)] = len(representatives)
            group[index] = len(representatives)
            representatives.append(int(index))
    return Groups(np.array(representatives, dtype=np.intp), group)
