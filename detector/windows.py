"""Windows: which rows of a frame belong to the span that ends at a given time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from detector.frame import Floats


def window_rows(times_s: Floats, ends_s: Floats, window_s: float) -> npt.NDArray[np.intp]:
    """Row numbers, intp[N, W], of the samples in (end - window, end]; windows with fewer than W are padded with -1."""
    tolerance_s = 1e-6
    first = np.searchsorted(times_s, ends_s - window_s + tolerance_s, side="right")
    last = np.searchsorted(times_s, ends_s + tolerance_s, side="right")
    width = int(np.max(last - first, initial=0))
    rows = first[:, None] + np.arange(width)[None, :]
    return np.where(rows < last[:, None], rows, -1)
