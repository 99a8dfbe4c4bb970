"""The detector's numeric functions once more, in plain loops that can be checked by eye."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

NAN = math.nan
Numbers = Sequence[float] | npt.NDArray[Any]
Rows = Sequence[Numbers] | npt.NDArray[Any]


def previous_sample(valid: Numbers) -> list[int]:
    """For each row, the last valid one up to it, or -1."""
    last, found = -1, []
    for row, is_valid in enumerate(valid):
        last = row if is_valid else last
        found.append(last)
    return found


def differences(times_s: Numbers, values: Numbers) -> tuple[list[float], list[float]]:
    """Change and elapsed time since the last value that was there."""
    change, elapsed = [], []
    before: int | None = None
    for row, value in enumerate(values):
        if math.isnan(value) or before is None:
            change.append(NAN)
            elapsed.append(NAN)
        else:
            change.append(value - values[before])
            elapsed.append(times_s[row] - times_s[before])
        if not math.isnan(value):
            before = row
    return change, elapsed


def rates(times_s: Numbers, counter: Numbers, longest_s: float) -> list[float]:
    """Increase per second; NaN where the counter fell and over a longer time. What dips a little is not there."""
    peak, there = -math.inf, []
    for value in counter:
        peak = max(peak, value) if not math.isnan(value) else peak
        there.append(NAN if peak / 2 < value < peak else value)
    steps = zip(*differences(times_s, there), strict=True)
    return [change / elapsed if change >= 0 and elapsed <= longest_s else NAN for change, elapsed in steps]


def held(times_s: Numbers, values: Numbers, hold_s: float) -> list[float]:
    """The last value that was there, while it is young enough."""
    found, before = [], None
    for time_s, value in zip(times_s, values, strict=True):
        if not math.isnan(value):
            before = (time_s, value)
        found.append(before[1] if before is not None and time_s - before[0] <= hold_s else NAN)
    return found


def statistics(elapsed_s: Numbers, values: Numbers, window_s: float) -> list[float]:
    """Mean, deviation, least, greatest, slope and change of the values that are there."""
    there = [(t, v) for t, v in zip(elapsed_s, values, strict=True) if not math.isnan(v)]
    if not there:
        return [NAN] * 6
    known = [value for _, value in there]
    mean = sum(known) / len(known)
    long_enough = len(known) > 1 and there[-1][0] - there[0][0] >= window_s / 2
    change = known[-1] - known[0] if long_enough else NAN
    if len(known) < 8 or not long_enough:
        return [mean, NAN, NAN, NAN, NAN, change]
    deviation = math.sqrt(sum((value - mean) ** 2 for value in known) / len(known))
    centre = sum(t for t, _ in there) / len(there)
    slope = sum((t - centre) * v for t, v in there) / sum((t - centre) ** 2 for t, _ in there)
    return [mean, deviation, min(known), max(known), slope, change]


def percentile(values: Numbers, percent: float) -> float:
    """Linear interpolation between the ordered values."""
    ordered: list[float] = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def groups(r: Rows, usable: Numbers, above: float) -> tuple[list[int], list[int]]:
    """Representatives, and the group of each feature."""
    group = [-1] * len(usable)
    leaders: list[int] = []
    for leader in range(len(usable)):
        if not usable[leader] or group[leader] >= 0:
            continue
        for member in range(len(usable)):
            related = abs(r[leader][member]) > above or member == leader
            if usable[member] and group[member] < 0 and related:
                group[member] = len(leaders)
        leaders.append(leader)
    return leaders, group


def alarm_statistic(scores: Numbers, votes: int, of: int) -> list[float]:
    """The vote-th largest of the last scores; what is missing is quiet."""
    found = []
    for end in range(1, len(scores) + 1):
        last = [score for score in scores[max(0, end - of) : end] if not math.isnan(score)]
        last += [-math.inf] * (of - len(last))
        found.append(sorted(last, reverse=True)[votes - 1])
    return found


def top_mean(sizes: Numbers, count: int) -> float:
    """Mean of the largest sizes; 0 without any."""
    top = sorted(sizes, reverse=True)[:count]
    return sum(top) / len(top) if top else 0.0
