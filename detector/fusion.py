"""Fusion: three scores on one scale, averaged by weight.

Averaging normalised logarithms beat the maximum, the top two and rank averages on labelled telemetry;
the fused score is then calibrated as a whole, so that dependence between the detectors does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.frame import Floats
from detector.high import high

_SMALLEST = 1e-3


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Per detector: ``median`` and ``range`` (high end of the usual less median) float64[D] of held-out scores."""

    median: Floats
    range: Floats

    def __call__(self, raw: Floats) -> Floats:
        """Scores [N, D] with the median at 0 and the high end of the usual at 1."""
        result: Floats = (raw - self.median) / self.range
        return result


def fit_normaliser(held_out: Floats, least_range: Floats) -> Normaliser:
    """From held-out scores float64[N, D]; no range is smaller than ``least_range`` float64[D] medians."""
    median = np.median(held_out, axis=0)
    least = np.maximum(least_range * median, _SMALLEST)
    return Normaliser(median, np.maximum(high(held_out) - median, least))


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Scores are those of so many ``windows``: their mean or, where one burst can fill a window, their median, which
    fewer than half of them do not move, and more than half of them for no longer than they last."""

    windows: int = 1
    median: bool = False

    def newest(self, scores: Floats) -> Floats:
        """Of scores [n, D] without gaps, at most the last ``windows``, [D]."""
        result: Floats = (np.median if self.median else np.mean)(scores[-self.windows :], axis=0)
        return result

    def over(self, scores: Floats) -> Floats:
        """At each of the scores [N] or [N, D] that of the last ones, of fewer at the start; NaN counts as zero."""
        if self.windows == 1:
            return np.nan_to_num(scores)
        return causal_median(scores, self.windows) if self.median else causal_mean(scores, self.windows)


def smoothed(normalised: Floats, runs: npt.NDArray[np.intp], smoothing: Smoothing) -> Floats:
    """Normalised scores [N, D], each smoothed over those of the same run; ``runs`` intp[N] numbers them."""
    result = np.empty_like(normalised)
    for run in np.unique(runs):
        result[runs == run] = smoothing.over(normalised[runs == run])
    return result


def causal_mean(values: Floats, of: int) -> Floats:
    """Mean of the last ``of`` values [N] or [N, D], of fewer at the start; NaN counts as zero."""
    known = np.nan_to_num(values)
    total = np.cumsum(np.concatenate([np.zeros_like(known[:1]), known]), axis=0)
    end = np.arange(1, len(known) + 1)
    start = np.maximum(end - of, 0)
    mean: Floats = ((total[end] - total[start]).T / (end - start)).T
    return mean


def causal_median(values: Floats, of: int) -> Floats:
    """As ``causal_mean``, the median."""
    known = np.nan_to_num(values)
    before = np.full((of - 1, *known.shape[1:]), np.nan)
    last = np.lib.stride_tricks.sliding_window_view(np.concatenate([before, known]), of, axis=0)
    median: Floats = np.nanmedian(last, axis=-1)
    return median


def fuse(normalised: Floats, weights: Floats) -> Floats:
    """Weighted mean float64[N] of normalised scores [N, D]."""
    assert normalised.shape[1] == len(weights), "one weight a detector"
    fused: Floats = normalised @ (weights / weights.sum())
    return fused
