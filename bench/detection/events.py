"""Alarms against labelled segments: what is found, how soon, how often falsely, and how much of it by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Spans = npt.NDArray[np.intp]

_MERGE_S, _MERGE_POINTS = 60.0, 5
_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Alarmed:
    """Shares between 0 and 1, alarms and false ones a day, and the median delay of what was found; NaN where there is
    nothing to take a share of."""

    event_recall: float
    episode_precision: float
    fpr: float
    alarms_per_day: float
    false_episodes_per_day: float
    delay_s: float
    chance_hit_rate: float


def spans(active: Bools) -> Spans:
    """[start, end) of each unbroken stretch of ``active`` bool[N], intp[S, 2]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    return edges.reshape(-1, 2).astype(np.intp)


def inside(stretches: Spans, length: int) -> Bools:
    """Which of so many points lie in one of the stretches, bool[N]; the inverse of ``spans``."""
    active = np.zeros(length, dtype=bool)
    for start, end in stretches:
        active[start:end] = True
    return active


def merged(stretches: Spans, most_apart: float) -> Spans:
    """Stretches [S, 2] of which those at most so many points apart are one."""
    if not len(stretches):
        return stretches
    begins = np.append(True, stretches[1:, 0] - stretches[:-1, 1] > most_apart)
    ends = np.append(begins[1:], True)
    return np.stack([stretches[begins, 0], stretches[ends, 1]], axis=1)


def episodes(active: Bools, interval_s: float) -> Spans:
    """Alarms [start, end), those at most 60 s or five points apart taken for one."""
    return merged(spans(active), max(_MERGE_S / interval_s, _MERGE_POINTS))


def alarmed(active: Bools, label: Bools, interval_s: float, window_s: float) -> Alarmed:
    """Alarms ``active`` bool[N] at points whose labels are ``label`` bool[N].

    A segment is found by an alarm in it or within the length of a window after it.
    """
    after = round(window_s / interval_s)
    segments, raised = spans(label), episodes(active, interval_s)
    first = np.array([_first(active[start : end + after]) for start, end in segments], dtype=np.float64)
    found = ~np.isnan(first)
    touches = np.array([label[start:end].any() for start, end in raised], dtype=bool)
    days = len(label) * interval_s / _DAY_S
    return Alarmed(
        event_recall=_mean(found),
        episode_precision=_mean(touches),
        fpr=_mean(active[~label]),
        alarms_per_day=len(raised) / days,
        false_episodes_per_day=float((~touches).sum()) / days,
        delay_s=float(np.median(first[found])) * interval_s if found.any() else np.nan,
        chance_hit_rate=_mean(np.array([by_chance(active, end - start + after) for start, end in segments])),
    )


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.astype(np.float64).mean()) if len(values) else np.nan


def _first(active: Bools) -> float:
    return float(active.argmax()) if active.any() else np.nan


def by_chance(active: Bools, length: int) -> float:
    """Share of all places on a circle at which a segment of such a length meets an alarm: the same alarms, moved to a
    random time, find it so often."""
    if not active.any():
        return 0.0
    stretches = spans(active)
    gaps = np.append(stretches[1:, 0], stretches[0, 0] + len(active)) - stretches[:, 1]
    return float(1.0 - np.maximum(gaps - length + 1, 0).sum() / len(active))
