"""The high end of what is usual: a quantile that one burst in a short baseline cannot set."""

from __future__ import annotations

import numpy as np

from detector.frame import Floats

SHARE = 0.01
LEAST_WINDOWS = 10  # as many as see one burst: windows overlap


def high(values: Floats) -> Floats:
    """The 99th percentile of each column of ``values`` [N, ...]; of few rows the level that ten windows are above."""
    quantile: Floats = np.quantile(values, 1.0 - share_above(len(values)), axis=0)
    return quantile


def share_above(rows: int) -> float:
    """Share of so many rows that lies above their high end."""
    return min(0.5, max(SHARE, LEAST_WINDOWS / rows))
