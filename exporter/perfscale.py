"""Reads a group of perf counters: from the bytes that the kernel gives to totals that never fall.

A PMU with more events than counters counts each group a part of the time. What a group counted between two readings is
scaled by the time it was enabled over the time it was running, and added up; scaled totals could run backwards:
https://perf.wiki.kernel.org/index.php/Tutorial#multiplexing_and_scaling_events
"""

from __future__ import annotations

import struct
from math import nan

ENABLED = slice(8, 16)
"""Where in a reading the time stands for which its group was enabled."""


class Scaled:
    """The counts of one group. What it is given are whole readings in PERF_FORMAT_GROUP with both times."""

    __slots__ = ("_counts", "_enabled_ns", "_gap", "_layout", "_running_ns", "_totals", "running_ratio")

    def __init__(self, events: int) -> None:
        self._layout = struct.Struct(f"={3 + events}Q")
        self._enabled_ns = self._running_ns = 0
        self._counts: tuple[int, ...] = (0,) * events
        self._totals = [0.0] * events
        self._gap = [nan] * events
        self.running_ratio = nan
        """Share of the time since the last reading in which the group was counted; NaN when no time passed."""

    @property
    def size_bytes(self) -> int:
        """How long a reading is."""
        return self._layout.size

    def __call__(self, data: bytes) -> list[float]:
        """The total of each event since it was opened; NaN when the group was not counted since the last reading.

        The counts of such a time are made up for at the next reading, as the times then reach back over it.
        """
        if len(data) != self._layout.size:  # the kernel reports a group that it had to give up as an empty file
            self.running_ratio = nan
            return self._gap
        _, enabled_ns, running_ns, *counts = self._layout.unpack(data)
        enabled_for_ns, ran_for_ns = enabled_ns - self._enabled_ns, running_ns - self._running_ns
        if ran_for_ns <= 0:
            self.running_ratio = 0.0 if enabled_for_ns > 0 else nan
            return self._gap
        self.running_ratio = min(1.0, ran_for_ns / enabled_for_ns) if enabled_for_ns > 0 else nan
        factor = max(1.0, enabled_for_ns / ran_for_ns)
        self._totals = [
            total + max(0, now - before) * factor
            for total, now, before in zip(self._totals, counts, self._counts, strict=True)
        ]
        self._enabled_ns, self._running_ns, self._counts = enabled_ns, running_ns, tuple(counts)
        return self._totals
