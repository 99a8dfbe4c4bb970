"""Ranking across runs at the same elapsed time: what a score is worth that cannot win by knowing how late it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

BIN_S = 10.0
LEAST_OF_EACH = 3

Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Pairs:
    """How many pairs of a labelled and another window were compared, and in how many the labelled one was higher."""

    won: float = 0.0
    compared: float = 0.0

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(self.won + other.won, self.compared + other.compared)

    def __sub__(self, other: Pairs) -> Pairs:
        return Pairs(self.won - other.won, self.compared - other.compared)


def paired_roc(run: Counts, elapsed_s: Floats, label: Bools, score: Floats) -> float:
    """Share of pairs, of different runs and in one bin of ``BIN_S``, that ``score`` ranks rightly; all arrays [N].

    Only bins with ``LEAST_OF_EACH`` windows of each kind count; equal scores are half right, NaN is lowest.
    """
    known = np.where(np.isnan(score), -np.inf, score)
    bins = np.floor_divide(elapsed_s, BIN_S).astype(np.intp)
    order = np.argsort(bins, kind="stable")
    total = Pairs()
    for rows in np.split(order, np.flatnonzero(np.diff(bins[order])) + 1):
        if min(label[rows].sum(), (~label[rows]).sum()) < LEAST_OF_EACH:
            continue
        total += compared(label[rows], known[rows])
        for number in np.unique(run[rows]):
            own = rows[run[rows] == number]
            total -= compared(label[own], known[own])
    return total.won / total.compared if total.compared else np.nan


def compared(label: Bools, score: Floats) -> Pairs:
    """Mann-Whitney's U of the labelled scores against the others, and the number of pairs."""
    positive, negative = score[label], np.sort(score[~label])
    below = np.searchsorted(negative, positive, side="left")
    up_to = np.searchsorted(negative, positive, side="right")
    return Pairs(float((below + up_to).sum()) / 2, float(len(positive) * len(negative)))
