"""Windows: which rows of a frame belong to the span that ends at a given time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from detector.frame import Floats


def window_ends(start_s: float, end_s: float, window_s: float, stride_s: float) -> Floats:
    """Ends, float64[N], of all windows that lie inside [start_s, end_s], on multiples of the stride since the epoch."""
    assert window_s > 0, f"window must be positive, got {window_s}"
    assert stride_s > 0, f"stride must be positive, got {stride_s}"
    # The small tolerance keeps a boundary that floating point put a hair past its multiple.
    first = np.ceil((start_s + window_s) / stride_s - 1e-9)
    last = np.floor(end_s / stride_s + 1e-9)
    return np.arange(first, last + 1) * stride_s


def window_rows(times_s: Floats, ends_s: Floats, window_s: float) -> npt.NDArray[np.intp]:
    """Row numbers, intp[N, W], of the samples in (end - window, end]; windows with fewer than W are padded with -1."""
    tolerance_s = 1e-6
    first = np.searchsorted(times_s, ends_s - window_s + tolerance_s, side="right")
    last = np.searchsorted(times_s, ends_s + tolerance_s, side="right")
    width = int(np.max(last - first, initial=0))
    rows = first[:, None] + np.arange(width)[None, :]
    return np.where(rows < last[:, None], rows, -1)
