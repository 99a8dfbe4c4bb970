"""Volume under the precision-recall surface: average precision with labels softened by up to so many points.

After Paparrizos et al. 2022, https://doi.org/10.14778/3551793.3551830, in the form that its authors' program computes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench.detection.events import spans
from detector.frame import Floats

THRESHOLDS = 250
_LAGS = range(3, 401)
_LONGEST, _OTHERWISE = 303, 125  # what the authors' programs take for a period at most, and where there is none
_POINTS = 20_000


Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.intp]


def period(values: Floats) -> int:
    """The longest buffer for a series float64[N]: the lag at which its autocorrelation has the highest local peak."""
    centred = values[:_POINTS] - values[:_POINTS].mean()
    spectrum = np.fft.rfft(centred, 2 * len(centred))
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, 2 * len(centred))[_LAGS.start : min(_LAGS.stop, len(centred))]
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:])) + 1
    if not len(peaks):
        return _OTHERWISE
    lag = _LAGS.start + int(peaks[np.argmax(correlation[peaks])])
    return lag if 2 * _LAGS.start <= lag <= _LONGEST else _OTHERWISE


def vus_pr(label: Bools, score: Floats, longest: int) -> float:
    """Mean over all buffers from 0 to ``longest`` points; ``label`` bool[N], ``score`` float64[N], NaN = lowest."""
    if not label.any():
        return np.nan
    known = np.where(np.isnan(score), np.nanmin(score, initial=0.0), score)
    order = np.argsort(-known, kind="stable")
    thresholds = known[order][np.linspace(0, len(known) - 1, THRESHOLDS).astype(np.intp)]
    flagged = np.searchsorted(-known[order], -thresholds, side="right")
    segments = spans(label)
    areas = [_area(label, known, order, segments, thresholds, flagged, buffer) for buffer in range(longest + 1)]
    return float(np.mean(areas))


def _area(
    label: Bools, score: Floats, order: Counts, segments: Counts, thresholds: Floats, flagged: Counts, buffer: int
) -> float:
    """Area under the curve with one buffer; ``flagged`` are the points at or above each threshold."""
    weight = softened(label, segments, buffer)
    true = np.cumsum(weight[order])[flagged - 1]
    outside = np.cumsum(np.where(label, 0.0, weight)[order])[flagged - 1]
    # What counts as positive grows with the softened points that are flagged.
    recall = np.minimum(true / (label.sum() + outside / 2), 1.0)
    highest = np.array([score[start:end].max() for start, end in _joined(segments, buffer // 2, len(label))])
    met = (highest[None, :] >= thresholds[:, None]).mean(axis=1)
    steps = np.diff(recall * met, prepend=0.0)
    return float((steps * true / flagged).sum())


def softened(label: Bools, segments: Counts, buffer: int) -> Floats:
    """Labels float64[N] that fall off on either side of each segment, to the root of a half at half the buffer."""
    weight = label.astype(np.float64)
    reach = np.arange(1, buffer // 2 + 1)
    fall = np.sqrt(1.0 - reach / buffer) if buffer else np.empty(0)
    for start, end in segments:
        before, after = start - reach, end - 1 + reach
        weight[before[before >= 0]] += fall[before >= 0]
        weight[after[after < len(label)]] += fall[after < len(label)]
    return np.minimum(weight, 1.0)


def _joined(segments: Counts, half: int, length: int) -> Counts:
    """Segments [start, end) with half a buffer on either side; those that then touch are one."""
    begins = np.append(True, segments[:-1, 1] - 1 + half >= segments[1:, 0] - half)
    begins[1:] = ~begins[1:]
    ends = np.append(begins[1:], True)
    return np.stack([np.maximum(segments[begins, 0] - half, 0), np.minimum(segments[ends, 1] + half, length)], axis=1)
