"""Thins what was sampled more often at times, so that features do not move because the rate of sampling does.

A mean over few samples is less steady than one over many, and so is a rate over a short time than one over a long time:
a model that was learned at one rate would alarm, or be mute, at another. So all is judged at the lowest rate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from detector.frame import Floats


def far_apart(times_s: Floats, interval_s: float, finest_s: float | None, after_s: float) -> npt.NDArray[np.intp]:
    """Numbers of the rows of ``times_s`` float64[T] to keep, an interval apart and so long after ``after_s``, if any.

    All where ``finest_s`` is None: the rows are never closer on purpose. A tick is late by less than half a fine one.
    """
    if finest_s is None:
        return np.arange(len(times_s), dtype=np.intp)
    least_s, kept, newest_s = interval_s - finest_s / 2, [], after_s
    for row, time_s in enumerate(times_s.tolist()):
        if not time_s - newest_s < least_s:  # NaN, before the first row, is far from all
            kept.append(row)
            newest_s = time_s
    return np.array(kept, dtype=np.intp)
