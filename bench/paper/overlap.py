"""How far two sets of alarms over the same time agree, and how far they would by chance.

Chance is that of the same alarms at another time: the mean over all shifts of one against the other, around the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.detection.events import Bools, by_chance, spans
from detector.frame import Floats


@dataclass(frozen=True, slots=True)
class Agreement:
    """Shares between 0 and 1; NaN where neither, or for the hit rate where the first, has an alarm."""

    hit_rate: float
    chance_hit_rate: float
    iou: float
    chance_iou: float


def agreement(first: Bools, second: Bools) -> Agreement:
    """Alarms bool[T] against others bool[T] on the same grid: which stretches of the first meet any of the second, and
    how much of the time that either flags both do."""
    assert first.shape == second.shape, "both have the same grid"
    stretches = spans(first)
    hits = [bool(second[start:end].any()) for start, end in stretches]
    chances = [by_chance(second, int(end - start)) for start, end in stretches]
    return Agreement(_mean(hits), _mean(chances), iou(first, second), chance_iou(first, second))


def iou(first: Bools, second: Bools) -> float:
    """Intersection over union of bool[T] and bool[T]; NaN where both are empty."""
    union = int((first | second).sum())
    return float((first & second).sum()) / union if union else float("nan")


def chance_iou(first: Bools, second: Bools) -> float:
    """Mean of ``iou`` over all shifts of the second around the end."""
    both, total = _intersections(first, second), int(first.sum()) + int(second.sum())
    return float((both / (total - both)).mean()) if total else float("nan")


def _intersections(first: Bools, second: Bools) -> Floats:
    """How many points both have at each shift, float64[T]: their circular cross-correlation."""
    spectrum = np.fft.rfft(first) * np.conj(np.fft.rfft(second))
    return np.rint(np.fft.irfft(spectrum, len(first)))


def painted(flags: Bools, ends_s: Floats, window_s: float, grid_s: Floats) -> Bools:
    """Which points of the grid float64[T] lie in a flagged window of (end - window, end], bool[T]."""
    edges = np.zeros(len(grid_s) + 1, dtype=np.int64)
    flagged_s = ends_s[flags]
    np.add.at(edges, grid_s.searchsorted(flagged_s - window_s, side="right"), 1)
    np.add.at(edges, grid_s.searchsorted(flagged_s, side="right"), -1)
    return np.cumsum(edges)[:-1] > 0


def _mean(shares: list[bool] | list[float]) -> float:
    return float(np.mean(shares)) if shares else float("nan")
