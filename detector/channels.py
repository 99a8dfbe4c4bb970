"""Channels: the catalog's signals evaluated on a frame, one column for each signal and label set.

Counters become rates and slow gauges are held, so that every channel lives on the frame's time axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from catalog import FAMILIES, SIGNALS
from catalog.expression import Vector
from catalog.family import Tier
from catalog.series import Labels, Series
from catalog.signal import Role, Scale, Signal, Worse
from detector.frame import Floats, Frame

TIER_INTERVAL_S = {Tier.FAST: 0.1, Tier.MEDIUM: 1.0, Tier.SLOW: 15.0, Tier.GPU: 1.0, Tier.STATIC: 15.0}
IMPOSSIBLE = 1e18  # nothing that a host measures, in any unit; its square would not fit where it is remembered
_HAIR_S = 1e-6  # sample times do not lie on multiples of their interval to the last bit
HOLD_INTERVALS = 2.5  # a value is held for that many of its own sampling intervals, then it is missing


@dataclass(frozen=True, slots=True)
class Channel:
    """One judged quantity of one host, ``str()`` of which is ``signal{label="value"}``."""

    series: Series
    unit: str
    subsystem: str
    role: Role
    worse: Worse
    floor: float
    scale: Scale

    def __str__(self) -> str:
        return str(self.series)

    def __hash__(self) -> int:
        return hash(self.series)  # names it; the rest would take several times as long


@dataclass(frozen=True, slots=True)
class Channels:
    """``values`` float64[T, C] of ``channels`` at ``times_s`` float64[T]; NaN = missing."""

    times_s: Floats
    values: Floats
    channels: tuple[Channel, ...]

    def __post_init__(self) -> None:
        assert self.values.shape == (len(self.times_s), len(self.channels)), "values do not fit times and channels"


def previous_sample(valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """For each row of ``valid`` [T, S], the row of the last valid sample at or before it; -1 where there is none."""
    rows = np.where(valid, np.arange(len(valid))[:, None], -1)
    return np.maximum.accumulate(rows, axis=0)


def differences(times_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Change and elapsed seconds from the sample before, both [T, S]; NaN where either end is missing."""
    valid = ~np.isnan(values)
    before = np.full(values.shape, -1, dtype=np.intp)
    before[1:] = previous_sample(valid)[:-1]
    known = valid & (before >= 0)
    columns = np.arange(values.shape[1])
    earlier = np.where(known, values[before, columns], np.nan)
    elapsed = np.where(known, times_s[:, None] - times_s[before], np.nan)
    return values - earlier, elapsed


def rates(times_s: Floats, counters: Floats, longest_s: float, first_row: int = 0) -> Floats:
    """Per-second increase [T, S] of counters over at most ``longest_s``, from ``first_row`` on.

    NaN at a reset, where a counter ran backwards, and after a gap: what happened in it did not happen in this window.
    """
    peak = np.fmax.accumulate(counters, axis=0)
    # What runs back a little catches up again (iowait does, https://docs.kernel.org/filesystems/proc.html): that is no
    # increase. What falls by more than half was reset.
    dipped = (counters < peak) & (counters > peak / 2)
    change, elapsed_s = differences(times_s[first_row:], np.where(dipped, np.nan, counters)[first_row:])
    return np.where((change >= 0) & (elapsed_s <= longest_s), change, np.nan) / elapsed_s


def interval(times_s: Floats, values: Floats) -> float:
    """Usual time between the rows of ``values`` [T, S] in which a series has a sample; 0 with fewer than two."""
    sampled_s = times_s[~np.isnan(values).all(axis=1)]
    if len(sampled_s) < 2:
        return 0.0
    steps = np.sort(sampled_s[1:] - sampled_s[:-1])  # ``np.median`` takes ten times as long, for each family
    return float(steps[(len(steps) - 1) // 2] + steps[len(steps) // 2]) / 2


def held(times_s: Floats, values: Floats, hold_s: float) -> Floats:
    """Values [T, S] with gaps filled by the last sample where that is at most ``hold_s`` old."""
    before = previous_sample(~np.isnan(values))
    age = times_s[:, None] - times_s[before]
    fresh = (before >= 0) & (age <= hold_s)
    return np.where(fresh, values[before, np.arange(values.shape[1])], np.nan)


class FrameOperands:
    """A frame as operands of the catalog's expressions; arrays are float64[R], the rows from ``first_row`` on."""

    def __init__(self, frame: Frame, first_row: int = 0) -> None:
        self._frame = frame
        self._first_row = first_row
        self._columns: dict[str, list[int]] = {}
        for index, series in enumerate(frame.columns):
            self._columns.setdefault(series.name, []).append(index)
        self._cache: dict[tuple[str, str], Floats] = {}

    def rate(self, family: str, match: Mapping[str, str]) -> Vector:
        """See ``catalog.expression.Operands``."""
        return self._read("rate", family, match)

    def level(self, family: str, match: Mapping[str, str]) -> Vector:
        """See ``catalog.expression.Operands``."""
        return self._read("level", family, match)

    def slope(self, family: str, match: Mapping[str, str]) -> Vector:
        """See ``catalog.expression.Operands``."""
        return self._read("slope", family, match)

    def aggregate(self, operator: str, arrays: Sequence[Floats]) -> Floats:
        """See ``catalog.expression.Operands``; NaN only where all arrays are."""
        stack = np.stack(arrays)
        valid = ~np.isnan(stack)
        count = valid.sum(axis=0)
        filled = np.where(valid, stack, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            match operator:
                case "sum":
                    result = filled.sum(axis=0)
                case "avg":
                    result = filled.sum(axis=0) / count
                case "stddev":
                    centre = filled.sum(axis=0) / count
                    result = np.sqrt((np.where(valid, stack - centre, 0.0) ** 2).sum(axis=0) / count)
                case "max":
                    result = np.where(valid, stack, -np.inf).max(axis=0)
                case "min":
                    result = np.where(valid, stack, np.inf).min(axis=0)
                case _:
                    raise AssertionError(f"no aggregation {operator}")
        return np.where(count > 0, result, np.nan)

    def clamp_min(self, array: Floats, least: float) -> Floats:
        """See ``catalog.expression.Operands``."""
        return np.maximum(array, least)

    def _read(self, how: str, family: str, match: Mapping[str, str]) -> Vector:
        indices = self._columns.get(family, [])
        if not indices:
            return {}
        values = self._cache.get((how, family))
        if values is None:
            values = self._cache[how, family] = self._compute(how, family, indices)
        found: Vector = {}
        wanted = set(match.items())
        for position, index in enumerate(indices):
            labels = self._frame.columns[index].labels
            if wanted.issubset(labels):
                found[labels] = values[:, position]
        return found

    def _compute(self, how: str, family: str, indices: list[int]) -> Floats:
        times_s, values = self._frame.times_s, self._frame.values[:, indices]
        declared = FAMILIES.get(family)
        tier_s = TIER_INTERVAL_S[declared.tier] if declared else 0.0
        hold_s = HOLD_INTERVALS * max(interval(times_s, values), tier_s)
        first = self._first_row
        # What is held until the first row that is asked for came at most so long before, from a sample as long before.
        early = int(times_s.searchsorted(times_s[first] - 2 * hold_s - _HAIR_S)) if first < len(times_s) else first
        if how == "rate":
            values = rates(times_s, values, hold_s, early)
        elif how == "slope":
            change, elapsed_s = differences(times_s[early:], values[early:])
            values = np.where(elapsed_s <= hold_s, change, np.nan) / elapsed_s
        else:
            values = values[early:]
        return held(times_s[early:], values, hold_s)[first - early :]


def evaluate(frame: Frame, signals: Iterable[Signal] = SIGNALS.values(), first_row: int = 0) -> Channels:
    """Every signal that the frame has data for, on the rows from ``first_row`` on."""
    operands = FrameOperands(frame, first_row)
    columns: list[Floats] = []
    channels: list[Channel] = []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for signal in signals:
            for labels, values in sorted(signal.expression.evaluate(operands).items()):
                channels.append(channel_of(signal, labels))
                columns.append(np.where(np.abs(values) < IMPOSSIBLE, values, np.nan))
    times_s = frame.times_s[first_row:]
    values = np.stack(columns, axis=1) if columns else np.empty((len(times_s), 0))
    return Channels(times_s, values, tuple(channels))


def channel_of(signal: Signal, labels: Labels) -> Channel:
    """The channel that a signal makes with a label set."""
    series = Series(signal.name, labels)
    return Channel(series, signal.unit, str(signal.subsystem), signal.role, signal.worse, signal.floor, signal.scale)
