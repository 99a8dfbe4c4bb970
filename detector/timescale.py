"""How long a host takes to change, and the length of the windows that follow it.

The time scale is where the autocorrelation of the leading principal components has fallen to 1/e
(https://en.wikipedia.org/wiki/Autocorrelation), beyond what windows that overlap have in common anyway.
"""

from __future__ import annotations

import math

import numpy as np

from detector.detectors.subspace import FIT_CLIP
from detector.frame import Floats
from detector.model import unbroken
from detector.training import BLOCK_ROWS

COMPONENTS = 3
LEAST_PIECES = 2  # what one stretch of windows shows may be chance
LEAST_CHANGE = 2.0  # a window that is nearly right is kept: another one costs a baseline
_FALLEN = 1.0 / math.e


def time_scale_s(end_s: Floats, z: Floats, window_s: float) -> float:
    """Seconds after which what leads the deviations ``z`` [N, F] of means in windows with ends [N] has changed.

    Samples without memory give 0. Training memory holds stretches of ``BLOCK_ROWS`` windows: about the mean of so few
    all that is slow is told too short, and as no more than a quarter of them. NaN without two, or where nothing moves.
    """
    pieces = _pieces(end_s, np.clip(np.nan_to_num(z), -FIT_CLIP, FIT_CLIP))
    leading = _leading(pieces)
    if len(leading) < LEAST_PIECES or not (leading**2).any():
        return math.nan
    stride_s = float(np.median(np.diff(end_s)))
    fallen_s = first_below(autocorrelation(leading), _FALLEN) * stride_s
    # Means of unrelated samples fall to 1/e after this part of a window: what they share falls in a straight line.
    # Taken off as spreads are, or the same host would be told quicker in its new, longer windows and go back to short.
    return math.sqrt(max(0.0, fallen_s**2 - ((1.0 - _FALLEN) * window_s) ** 2))


def autocorrelation(pieces: Floats) -> Floats:
    """By lag, float64[L - 1] from lag 0, of stretches [P, L, K] of several series, which weigh by their variance."""
    length = pieces.shape[1]
    products = [float((pieces[:, lag:] * pieces[:, : length - lag]).mean()) for lag in range(length - 1)]
    result: Floats = np.array(products) / products[0]
    return result


def first_below(r: Floats, level: float) -> float:
    """The lag, between two where ``r`` float64[L] from lag 0 passes the level, or L where it never does."""
    below = np.flatnonzero(r < level)
    if not len(below):
        return float(len(r))
    lag = int(below[0])
    return lag - 1 + float((r[lag - 1] - level) / (r[lag - 1] - r[lag]))


def window_for(scale_s: float, bounds_s: tuple[float, float], stride_s: float) -> float:
    """The window as long as the time scale, in whole strides and within bounds; NaN for NaN.

    >>> window_for(7.3, (3.0, 12.0), 1.0), window_for(0.0, (3.0, 12.0), 1.0), window_for(90.0, (3.0, 12.0), 1.0)
    (7.0, 3.0, 12.0)
    """
    if math.isnan(scale_s):
        return math.nan
    return min(max(round(scale_s / stride_s) * stride_s, bounds_s[0]), bounds_s[1])


def followed(window_s: float, wanted_s: tuple[float, ...]) -> float:
    """The window to use after ``window_s``, by those that the newest fits asked for: another one only where two in a
    row asked for one at least twice or at most half as long.

    >>> followed(3.0, (3.0, 7.0)), followed(3.0, (9.0, 7.0)), followed(3.0, (5.0, 5.0)), followed(9.0, (4.0, 3.0))
    (3.0, 7.0, 3.0, 3.0)
    """
    if len(wanted_s) < 2:
        return window_s
    longer, shorter = (
        min(wanted_s[-2:]) >= LEAST_CHANGE * window_s,
        max(wanted_s[-2:]) <= window_s / LEAST_CHANGE,
    )
    return wanted_s[-1] if longer or shorter else window_s


def _pieces(end_s: Floats, z: Floats) -> Floats:
    """Stretches [P, L, F] of ``BLOCK_ROWS`` windows without a gap, each about its own mean."""
    runs = unbroken(end_s)
    cut = [
        rows[: len(rows) // BLOCK_ROWS * BLOCK_ROWS].reshape(-1, BLOCK_ROWS)
        for rows in (np.flatnonzero(runs == run) for run in np.unique(runs))
    ]
    pieces = z[np.concatenate(cut)] if cut else np.empty((0, BLOCK_ROWS, z.shape[1]))
    return pieces - pieces.mean(axis=1, keepdims=True) if len(pieces) else pieces


def _leading(pieces: Floats) -> Floats:
    """The leading principal components [P, L, K] of stretches [P, L, F]."""
    rows = pieces.reshape(-1, pieces.shape[2])
    if not rows.size:
        return np.empty((0, BLOCK_ROWS, 0))
    _, directions = np.linalg.eigh(rows.T @ rows)  # the largest last
    result: Floats = pieces @ directions[:, ::-1][:, :COMPONENTS]
    return result
