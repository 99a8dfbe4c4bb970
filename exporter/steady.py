"""Steady time: the wall clock at start plus what the monotonic clock has counted since.

A wall clock that is stepped (NTP, an operator) neither stretches a window nor turns time back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """The clocks of one exporter process; tests pass their own."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    _offset_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._offset_s = self.wall() - self.monotonic()

    def steady(self, monotonic_s: float) -> float:
        """The steady time of a monotonic time, in seconds since the epoch."""
        return self._offset_s + monotonic_s

    def now(self) -> float:
        """The steady time now."""
        return self.steady(self.monotonic())
