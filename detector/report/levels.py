"""The level of every signal over a stretch of the past: what a comparison is made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from detector.channels import Channel
from detector.features import Feature
from detector.frame import Floats
from detector.incidents.window import LEVEL
from detector.judge import Judge
from detector.pipeline import features_at
from detector.replay import Past

MOST_WINDOWS = 300


@dataclass(frozen=True, slots=True)
class Levels:
    """``x`` float64[N, C] on the deviation scale at window ends ``end_s`` float64[N] of C ``channels``; NaN = gap."""

    name: str
    end_s: Floats
    x: Floats
    channels: tuple[Channel, ...]

    def of(self, channels: tuple[Channel, ...]) -> Floats:
        """The columns of some channels, float64[N, C]."""
        position = {channel: column for column, channel in enumerate(self.channels)}
        return self.x[:, [position[channel] for channel in channels]]


def levels_of(
    past: Past, from_s: float, to_s: float, judge_by: Judge, progress: Callable[[float], bool]
) -> Levels | None:
    """At most ``MOST_WINDOWS`` windows, evenly over the stretch; None where it holds none, or is to be left.

    Who asks goes forward in time. ``progress`` is told how much is done, and says whether to stop.
    """
    first_s, last_s = max(from_s, past.span_s[0]) + judge_by.window_s, min(to_s, past.span_s[1])
    if not first_s <= last_s:
        return None
    step_s = max(judge_by.stride_s, (last_s - first_s) / MOST_WINDOWS)
    ends_s: Floats = first_s + step_s * np.arange(math.floor((last_s - first_s) / step_s) + 1, dtype=np.float64)
    columns: dict[Channel, Floats] = {}
    for row, end_s in enumerate(ends_s):
        if progress(row / len(ends_s)):
            return None
        frame = past.frame(float(end_s) - judge_by.lookback_s, float(end_s))
        features = features_at(frame, np.array([end_s]), judge_by)
        for place, feature in enumerate(features.features):
            if feature.statistic == LEVEL:
                columns.setdefault(feature.channel, np.full(len(ends_s), np.nan))[row] = features.x[0, place]
    known = tuple(channel for channel, values in columns.items() if np.isfinite(values).any())
    if not known:
        return None
    return Levels(past.host.instance, ends_s, np.stack([columns[channel] for channel in known], axis=1), known)


def level_features(channels: tuple[Channel, ...]) -> tuple[Feature, ...]:
    """The features that the columns are."""
    return tuple(Feature(channel, LEVEL) for channel in channels)
