"""The paper's own rule, as printed: a window is flagged where most detectors are above their 99th percentile.

https://arxiv.org/abs/2510.26008. By construction it flags one window in a hundred of each detector, faults or not.
"""

from __future__ import annotations

import numpy as np

from bench.detection.events import Bools
from detector.features import Features
from detector.frame import Floats
from detector.model import fit_parts

_QUANTILE, _AGREE = 0.99, 2


def printed(windows: Features) -> Bools:
    """Which of the windows, learned from all of them, are flagged, bool[N]."""
    parts = fit_parts(windows.x, windows.features)
    return majority(parts.raw(parts.scaler.deviations(windows.x)))


def majority(raw: Floats) -> Bools:
    """Rows of scores [N, D] in which at least two are above the 99th percentile of their column."""
    flagged: Bools = (raw > np.nanquantile(raw, _QUANTILE, axis=0)).sum(axis=1) >= _AGREE
    return flagged
