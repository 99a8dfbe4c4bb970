"""How well a score ranks labelled points above the others: best F1, average precision, area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well a score ranks; NaN where there are no labelled points, or only such."""

    f1: float
    ap: float
    roc: float


def rank(label: Bools, score: Floats) -> Ranking:
    """``label`` bool[N] against ``score`` float64[N]; equal scores share a threshold, and NaN counts as the lowest."""
    positives = int(label.sum())
    if positives in (0, len(label)):
        return Ranking(np.nan, np.nan, np.nan)
    known = np.where(np.isnan(score), -np.inf, score)
    order = np.argsort(-known, kind="stable")
    last_of_ties = np.append(np.diff(known[order]) != 0, True)
    found = np.cumsum(label[order])[last_of_ties]
    flagged = (np.arange(len(label)) + 1)[last_of_ties]
    f1 = 2.0 * found / (flagged + positives)
    steps = np.diff(found, prepend=0) / positives
    false = np.append(0, flagged - found) / (len(label) - positives)
    roc = np.trapezoid(np.append(0, found) / positives, false)
    return Ranking(float(f1.max()), float((steps * found / flagged).sum()), float(roc))
