"""What the exporter knows of itself: how each collector fares and how punctual each tier is.

The sampler writes it; the collectors of the exporter's own families and the landing page read it.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, nan

from catalog.family import Subsystem, Tier


class State(StrEnum):
    """How a collector fares. ``OFF``: nothing to read on this host, or not wanted."""

    ON = "on"
    OFF = "off"
    FAILING = "failing"
    HUNG = "hung"


@dataclass(slots=True)
class Health:
    """One collector's state, cost and errors. ``tier`` is the one it is read in, which may not be its own.

    ``returns`` counts moves back towards its own.
    """

    tier: Tier
    state: State = State.ON
    reason: str = ""
    reads: int = 0
    cpu_s: float = 0.0
    duration_s: float = nan
    succeeded_at_s: float = nan
    errors: Counter[str] = field(default_factory=Counter)
    returns: int = 0


@dataclass(slots=True)
class Pace:
    """How one tier keeps time; ``sampled_at_s`` is the wall time of its newest sample, NaN before the first."""

    interval_s: float = nan
    sampled_at_s: float = nan
    ticks: int = 0
    overruns: int = 0
    rows: int = 0
    lateness_s: deque[float] = field(default_factory=lambda: deque(maxlen=600))

    def late_s(self, share: float) -> float:
        """What this share of the recent ticks did not exceed; 1.0 gives the largest, NaN before the first tick."""
        ordered = sorted(self.lateness_s)
        return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else nan


@dataclass(slots=True)
class Tally:
    """The whole exporter's account of itself."""

    collectors: dict[str, Health] = field(default_factory=dict)
    paces: dict[Tier, Pace] = field(default_factory=lambda: {tier: Pace() for tier in Tier})
    series: dict[Subsystem, int] = field(default_factory=dict)
