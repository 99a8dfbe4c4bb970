"""One burst in a baseline: what happened once and stands out must not set the measure of everything else.

Held-out scores judge each stretch of time by a model that did not see it, so a single burst (another program's
start, a backup) scores far beyond all else, although the model in use has seen it and will not be surprised by it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

STANDS_OUT = 1.5  # times the largest elsewhere; healthy hosts that drift stay below 1.25
NEIGHBOURHOOD = 0.1  # share of the windows, on either side of the worst, that a burst may last
_SMOOTHED = 5  # windows
_LEAST = 1e-3


def ordinary(raw: Floats) -> npt.NDArray[np.bool_]:
    """Which of the held-out windows, bool[N], are to calibrate on, from raw scores float64[N, D] in order of time.

    All, unless one stretch stands out over everything else.
    """
    relative = (raw / np.maximum(np.median(raw, axis=0), _LEAST)).mean(axis=1)
    smoothed = np.convolve(relative, np.full(_SMOOTHED, 1.0 / _SMOOTHED), mode="same")
    reach = int(NEIGHBOURHOOD * len(raw))
    kept = np.abs(np.arange(len(raw)) - int(smoothed.argmax())) > reach
    if smoothed[~kept].max() <= STANDS_OUT * smoothed[kept].max(initial=0.0):
        kept[:] = True
    return kept
