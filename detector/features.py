"""Features: six statistics of every channel in every window, on a scale where deviations compare.

Statistics are taken in the channel's own unit and only then scaled, so that a burst counts with what it moved.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from catalog.signal import Scale
from detector.channels import Channel, Channels
from detector.frame import Floats
from detector.recalled import recalled
from detector.windows import window_rows

STATISTICS = ("mean", "deviation", "min", "max", "slope", "change")
FEW_SAMPLES = 8  # below, deviation, extremes and slope say no more than mean and change do
LEAST_SPAN = 0.5  # of the window: movement within less would be compared with movement within all of it
_CHUNK_ELEMENTS = 4_000_000


@dataclass(frozen=True, slots=True)
class Feature:
    """One statistic of one channel."""

    channel: Channel
    statistic: str
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_text", f"{self.channel}:{self.statistic}")  # asked for in every window

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True, slots=True)
class Features:
    """``x`` float64[N, F] on the scale of ``to_scale`` at window ends ``end_s`` float64[N]; NaN = missing."""

    end_s: Floats
    x: Floats
    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        assert self.x.shape == (len(self.end_s), len(self.features)), "x does not fit window ends and features"
        assert not np.isinf(self.x).any(), "a feature is finite or NaN"

    @property
    def names(self) -> tuple[str, ...]:
        """Each leads back to its channel: ``signal{label="value"}:statistic``."""
        return names_of(self.features)


def extract(channels: Channels, ends_s: Floats, window_s: float) -> Features:
    """The six statistics of each channel over (end - window, end] for each end; a window without samples is all NaN."""
    kept = _features(channels.channels)
    rows = window_rows(channels.times_s, ends_s, window_s)
    x = np.full((len(ends_s), len(kept)), np.nan)
    if rows.shape[1] and channels.channels:
        chunk = max(1, _CHUNK_ELEMENTS // (rows.shape[1] * len(channels.channels)))
        for start in range(0, len(ends_s), chunk):
            part = slice(start, start + chunk)
            x[part] = _statistics(channels, rows[part], ends_s[part], window_s)
    return Features(ends_s, to_scale(x, kept), kept)


@lru_cache(maxsize=64)
def _features(channels: tuple[Channel, ...]) -> tuple[Feature, ...]:
    """The same objects again for the same channels: what is one object is soon found equal."""
    return tuple(Feature(channel, statistic) for statistic in STATISTICS for channel in channels)


def _statistics(channels: Channels, rows: npt.NDArray[np.intp], ends_s: Floats, window_s: float) -> Floats:
    """Raw statistics [n, 6 C], statistic by statistic; only the mean where samples cover too little of a window."""
    inside = rows >= 0
    values = np.where(inside[:, :, None], channels.values[rows], np.nan)
    elapsed_s = np.where(inside, channels.times_s[rows] - ends_s[:, None], np.nan)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN slices are gaps, and gaps are NaN
        mean = np.nanmean(values, axis=1)
        deviation = np.nanstd(values, axis=1)
        smallest, greatest = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        slope = _slope(values, elapsed_s)
    valid = ~np.isnan(values)
    first, last = valid.argmax(axis=1), values.shape[1] - 1 - valid[:, ::-1].argmax(axis=1)
    change = _between(values, first, last)
    change[~(_between(elapsed_s[:, :, None], first, last) >= LEAST_SPAN * window_s)] = np.nan
    few = (valid.sum(axis=1) < FEW_SAMPLES) | np.isnan(change)
    for statistic in (deviation, smallest, greatest, slope):
        statistic[few] = np.nan
    return np.concatenate([mean, deviation, smallest, greatest, slope, change], axis=1)


def _slope(values: Floats, elapsed_s: Floats) -> Floats:
    """Least-squares slope per second, [n, C], over the samples that are there."""
    times = np.where(np.isnan(values), np.nan, elapsed_s[:, :, None])
    centred = times - np.nanmean(times, axis=1, keepdims=True)
    slope: Floats = np.nansum(centred * values, axis=1) / np.nansum(centred**2, axis=1)
    return slope


def _between(values: Floats, first: npt.NDArray[np.intp], last: npt.NDArray[np.intp]) -> Floats:
    """Values [n, W, C or 1] in the rows ``last`` less those in ``first``, [n, C]; NaN unless one is after the other."""
    ends = np.take_along_axis(values, np.stack([first, last], axis=1), axis=1)
    return np.where(last > first, ends[:, 1] - ends[:, 0], np.nan)


def to_scale(x: Floats, features: tuple[Feature, ...]) -> Floats:
    """Values [N, F] in the channels' units on the deviation scale: in floors, or their signed logarithm."""
    floors, relative = _floors(features), _relative(features)
    with np.errstate(over="ignore"):
        in_floors = x / floors
    return np.where(relative, np.sign(in_floors) * np.log1p(np.abs(in_floors)), in_floors)


def from_scale(x: Floats, features: tuple[Feature, ...]) -> Floats:
    """The inverse of ``to_scale``: back to the channels' units."""
    floors, relative = _floors(features), _relative(features)
    with np.errstate(over="ignore"):
        return np.where(relative, np.sign(x) * np.expm1(np.abs(x)), x) * floors


@recalled
def names_of(features: tuple[Feature, ...]) -> tuple[str, ...]:
    """Their names, see ``Features.names``."""
    return tuple(str(feature) for feature in features)


@recalled
def by_channel(features: tuple[Feature, ...]) -> Mapping[Channel, Sequence[int]]:
    """The columns of each channel, in the order in which the channels first stand."""
    columns: dict[Channel, list[int]] = {}
    for column, feature in enumerate(features):
        columns.setdefault(feature.channel, []).append(column)
    return columns


@recalled
def _floors(features: tuple[Feature, ...]) -> Floats:
    return np.array([feature.channel.floor for feature in features])


@recalled
def _relative(features: tuple[Feature, ...]) -> npt.NDArray[np.bool_]:
    return np.array([feature.channel.scale is Scale.RELATIVE for feature in features], dtype=bool)
