"""Whether the right columns and the right subsystem are blamed in a labelled segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

Bools = npt.NDArray[np.bool_]
_TOP = 3


@dataclass(frozen=True, slots=True)
class Blamed:
    """Shares between 0 and 1, means over segments; NaN where there are none."""

    hr100: float
    hr150: float
    rc3: float
    subsystem_at_1: float


def hit_rate(truth: Bools, evidence: Floats, percent: int) -> float:
    """Share of the true columns bool[C] that are among as many per cent of their number, by ``evidence`` float64[C]."""
    count = int(truth.sum())
    first = np.argsort(-evidence, kind="stable")[: percent * count // 100]
    return float(truth[first].sum()) / count


def blamed(
    segments: npt.NDArray[np.intp], truth: Bools, evidence: npt.NDArray[np.float32], shares: Floats, owner: Bools
) -> Blamed:
    """``segments`` intp[S, 2] and their true columns bool[S, C], against ``evidence`` [N, C] by column and ``shares``
    [N, G] by subsystem, both summed over a segment. ``owner`` bool[G, C]: whose the columns are; none where unknown."""
    figures = []
    for (start, end), true in zip(segments, truth, strict=True):
        if not true.any():
            continue
        by_column = evidence[start:end].sum(axis=0, dtype=np.float64)
        leader = int(shares[start:end].sum(axis=0).argmax())
        first = np.argsort(-by_column, kind="stable")[:_TOP]
        right = float((owner[leader] & true).any()) if owner.any() else np.nan
        figures.append(
            (hit_rate(true, by_column, 100), hit_rate(true, by_column, 150), float(true[first].any()), right)
        )
    if not figures:
        return Blamed(np.nan, np.nan, np.nan, np.nan)
    return Blamed(*(float(figure) for figure in np.mean(figures, axis=0)))
