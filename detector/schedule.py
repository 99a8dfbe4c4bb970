"""When which window is judged: pure arithmetic on window ends, which lie on multiples of the stride."""

from __future__ import annotations

import math
from dataclasses import dataclass

from detector.fusion import Smoothing

_HAIR = 1e-9  # keeps a boundary that floating point put a hair past its multiple

_USUAL_INTERVAL_S = 0.1
LEAST_SAMPLES = 3
MOST_OVERLAP = 100  # windows that share a sample
ENOUGH_SAMPLES, MOST_SMOOTHING = 30, 10
MOST_MEDIAN, BURST_S = 5, 1.0
LEAST_MERGE, LEAST_FREEZE = 5, 300  # strides that episodes are apart, and that one lasts before it is taken for normal
LONGEST_HORIZON_S = 3600.0
_HISTORY_GRAINS = 4
RETRY_S = 0.05
MOST_RETRIES = 5


@dataclass(frozen=True, slots=True)
class Pending:
    """Windows that can be judged: the numbers ``first`` to ``last`` (multiples of the stride), ``skipped`` before."""

    first: int
    last: int
    skipped: int

    @property
    def count(self) -> int:
        """How many."""
        return max(0, self.last - self.first + 1)


def widened(window_s: float, stride_s: float, interval_s: float) -> tuple[float, float]:
    """Window and stride for a host that is sampled every ``interval_s``: three samples, and one stride a sample.

    >>> widened(3.0, 1.0, 15.0), widened(3.0, 1.0, 1.0004), widened(3.0, 1.0, 0.1)
    ((45.0, 15.0), (3.0, 1.0), (3.0, 1.0))
    """
    assert interval_s > 0, f"an interval is positive, not {interval_s}"
    # Scrapes jitter by milliseconds; what counts is the configured interval.
    interval_s = round(interval_s, 1)
    return max(window_s, LEAST_SAMPLES * interval_s), max(stride_s, interval_s)


def longest_s(window_s: float, stride_s: float, times: float) -> float:
    """How long a window may become that can be so many times as long, while not too many overlap.

    >>> longest_s(3.0, 1.0, 4.0), longest_s(3.0, 0.1, 4.0), longest_s(3.0, 1.0, 1.0)
    (12.0, 10.0, 3.0)
    """
    return max(window_s, min(window_s * times, MOST_OVERLAP * stride_s))


def smoothing(window_s: float, interval_s: float) -> Smoothing:
    """Over how many windows scores are smoothed: with few samples in a window, its score is mostly noise.

    Where a window is no longer than a burst a mean would carry one burst into ten windows, and into an alarm.

    >>> smoothing(3.0, 0.1), smoothing(3.0, 1.0)
    (Smoothing(windows=1, median=False), Smoothing(windows=5, median=True))
    >>> smoothing(6.0, 2.0), smoothing(45.0, 15.0)
    (Smoothing(windows=10, median=False), Smoothing(windows=10, median=False))
    """
    interval_s = round(interval_s, 1)  # as in ``widened``: jitter must not change how a host is judged
    windows = max(1, min(MOST_SMOOTHING, round(ENOUGH_SAMPLES * interval_s / window_s)))
    if interval_s <= BURST_S:
        return Smoothing(min(windows, MOST_MEDIAN), median=windows > 1)
    return Smoothing(windows)


def octave(interval_s: float) -> int:
    """How often 0.1 s has to be doubled for an interval, roughly: so that jitter of scrapes changes nothing.

    >>> octave(0.1), octave(0.104), octave(0.2), octave(0.6), octave(1.0), octave(15.0)
    (0, 0, 1, 3, 3, 7)
    """
    return round(math.log2(interval_s / _USUAL_INTERVAL_S))


def horizon_s(baseline_s: float, window_s: float) -> float:
    """How far back windows are worth judging: what a first model is learned from, within an hour."""
    return min(baseline_s + 2 * window_s + 60.0, LONGEST_HORIZON_S)


def history_begins_s(now_s: float, history_s: float) -> float:
    """From when on a history is judged: on a multiple of a quarter of it, equal for who starts a little later.

    >>> history_begins_s(7300.0, 3600.0), history_begins_s(8000.0, 3600.0)
    (3600.0, 3600.0)
    """
    grain_s = history_s / _HISTORY_GRAINS
    return math.floor((now_s - history_s) / grain_s + _HAIR) * grain_s


def history_reach_s(history_s: float) -> float:
    """How far back a history can begin."""
    return history_s * (1 + 1 / _HISTORY_GRAINS)


def first_number(oldest_s: float, window_s: float, stride_s: float) -> int:
    """Number of the first window that lies behind the oldest sample."""
    return math.ceil((oldest_s + window_s) / stride_s - _HAIR)


def last_number(complete_s: float, stride_s: float) -> int:
    """Number of the last window whose end is not after ``complete_s``."""
    return math.floor(complete_s / stride_s + _HAIR)


def pending(
    wanted: int, oldest_s: float, complete_s: float, window_s: float, stride_s: float, reach_s: float
) -> Pending:
    """Windows from number ``wanted`` on that samples in [oldest, complete] allow, not further back than ``reach_s``."""
    last = last_number(complete_s, stride_s)
    first = max(wanted, first_number(oldest_s, window_s, stride_s), last - int(reach_s / stride_s))
    return Pending(first, last, first - wanted if wanted <= last else 0)


def wait_s(until_end_s: float, stride_s: float, misses: int, succeeded: bool) -> float:
    """How long to wait before the next try.

    ``until_end_s`` is the time until the next window's samples can be expected; past that, a few quick retries
    follow, then one a stride.
    """
    if until_end_s > 0:
        return until_end_s
    if succeeded:
        return stride_s / 2  # the source is late as a rule
    return min(RETRY_S * 2**misses, stride_s / 4) if misses < MOST_RETRIES else stride_s
