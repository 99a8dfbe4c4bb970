"""A circuit breaker: a database that failed several times in a row is left alone for a while, longer each time.

https://martinfowler.com/bliki/CircuitBreaker.html
"""

from __future__ import annotations

import threading

_ENOUGH = 5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 8.0


class Breaker:
    """Counts failures; for several threads. Times are seconds of a clock that never runs backwards."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_until_s = -float("inf")
        self.reason = ""
        """What the last failure was."""

    def wait_s(self, now_s: float) -> float:
        """How long not to ask; 0 where asking is fine. One question at the end of a pause finds out for all."""
        with self._lock:
            left_s = self._closed_until_s - now_s
            if self._failures >= _ENOUGH and left_s <= 0.0:
                self._closed_until_s = now_s + _FIRST_PAUSE_S
            return max(left_s, 0.0)

    def succeeded(self) -> None:
        """It answered."""
        with self._lock:
            self._failures, self._closed_until_s, self.reason = 0, -float("inf"), ""

    def failed(self, reason: str, now_s: float, jitter: float) -> None:
        """It did not. ``jitter`` in [0, 1) keeps many detectors from asking again at the same moment."""
        with self._lock:
            self._failures, self.reason = self._failures + 1, reason
            if self._failures >= _ENOUGH:
                pause_s = min(_FIRST_PAUSE_S * 2.0 ** min(self._failures - _ENOUGH, 10), _LONGEST_PAUSE_S)
                self._closed_until_s = now_s + pause_s * (0.75 + 0.5 * jitter)
