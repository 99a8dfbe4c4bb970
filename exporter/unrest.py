"""Tells from a few counters whether a host moves as it lately did, so that it is read often only while it does not.

Each counter is compared with its own recent rate: a mean, and a mean deviation from it, that forget, and that outliers
move only so far (https://en.wikipedia.org/wiki/Huber_loss). All times are in spans, the calm interval: a rate is always
that of one span, however often is read, as rates of shorter ones are less steady.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import inf

_LEARNING, _MEMORY = 20.0, 100.0  # spans
_LEAST_QUIET, _MOST_QUIET = 2.0, 6.0  # spans that it must be quiet for; what is rarer than usual comes after more
_STRANGE, _STILL_STRANGE = 8.0, 4.0  # typical deviations; a host that is unsettled calms down only below the second
_HAIR = 1e-9  # of a rate: what arithmetic makes of one that has not changed
_FORGOTTEN = 0.01  # of the widest that was typical: a counter that stood still for hours may move again as it did
_WHOLE = 0.9  # of a span: ticks are late at times


class Unrest:
    """Whether a host is unsettled, asked at every reading. It is until enough is known of it.

    It stays so until it has been quiet for as long as it was not, within bounds: a blip costs a few readings. What
    takes more than an eighth of the time becomes typical, so that nothing keeps a host unsettled for good.
    """

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._movements: dict[tuple[str, int], _Movement] = {}
        self._from_s: float | None = None
        self._since_s = self._strange_s = 0.0
        self._unsettled = True

    def unsettled(self, now_s: float, counts: Mapping[str, Sequence[float]]) -> bool:
        """Whether it is at ``now_s``, monotonic seconds, when the counters of each source stood at ``counts``."""
        if self._from_s is None:
            self._from_s = now_s
        strange = self._strange(now_s, counts)
        if now_s - self._from_s < _LEARNING * self._span_s:
            self._since_s = self._strange_s = now_s
        elif strange:
            if not self._unsettled:
                self._since_s = now_s
            self._strange_s, self._unsettled = now_s, True
        elif self._unsettled:
            lasted = (self._strange_s - self._since_s) / self._span_s
            quiet = (now_s - self._strange_s) / self._span_s
            self._unsettled = quiet < min(max(lasted, _LEAST_QUIET), _MOST_QUIET)
        return self._unsettled

    def _strange(self, now_s: float, counts: Mapping[str, Sequence[float]]) -> bool:
        bound, strange = _STILL_STRANGE if self._unsettled else _STRANGE, False
        for source, values in counts.items():
            for number, count in enumerate(values):
                movement = self._movements.get((source, number))
                if movement is None:
                    movement = self._movements[source, number] = _Movement(self._span_s)
                strange |= movement.follow(now_s, count) > bound
        return strange


class _Movement:
    """One counter: where it stood within the last span, and what is typical of its rate."""

    __slots__ = ("_known", "_mean", "_past", "_span_s", "_typical", "_widest")

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._past: deque[tuple[float, float]] = deque()
        self._mean = self._typical = self._widest = 0.0
        self._known = 0

    def follow(self, now_s: float, count: float) -> float:
        """How far the rate is from its mean, in typical deviations from it; 0 while too little is known."""
        past, newest_s = self._past, self._past[-1][0] if self._past else now_s
        past.append((now_s, count))
        while len(past) > 1 and now_s - past[1][0] >= _WHOLE * self._span_s:
            past.popleft()
        elapsed_s = now_s - past[0][0]
        if elapsed_s < _WHOLE * self._span_s:
            return 0.0
        rate = (count - past[0][1]) / elapsed_s
        self._known += 1
        if self._known == 1:
            self._mean = rate
            return 0.0
        moved = rate - self._mean
        if abs(moved) <= _HAIR * abs(rate):
            moved = 0.0
        strange = abs(moved) / self._typical if self._typical else inf if moved else 0.0
        self._learn(moved, max((now_s - newest_s) / (_MEMORY * self._span_s), 1.0 / self._known))
        return strange

    def _learn(self, moved: float, weight: float) -> None:
        """An outlier is learned as if it were just about strange, unless the counter always stood still."""
        most = _STRANGE * self._typical or abs(moved)
        self._mean += weight * max(-most, min(moved, most))
        typical = self._typical + weight * (min(abs(moved), most) - self._typical)
        self._widest = max(self._widest, typical)
        self._typical = max(typical, _FORGOTTEN * self._widest)
