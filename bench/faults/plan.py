"""When each fault is put in, under which load, and how long it is quiet between: the order comes from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.faults.suite import CONTROLS, FAULTS, LOADS, OUTAGES

BASELINE_S, STARTUP_S = 360.0, 60.0
LEAST_QUIET_S = 45.0
CONTROL_S, OUTAGE_S = 20.0, 10.0
ROUNDS = 2  # how often a baseline sees each load


class Kind(StrEnum):
    """What a step puts in."""

    FAULT = "fault"
    CONTROL = "control"
    OUTAGE = "outage"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is put in ``start_s`` after the baseline, for so long, and the load under which that is."""

    kind: Kind
    name: str
    load: str
    start_s: float
    seconds: float

    @property
    def end_s(self) -> float:
        """When it is taken out."""
        return self.start_s + self.seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in their order; the load changes in the middle of each quiet time. Ends after ``seconds``."""

    steps: tuple[Step, ...]
    baseline_s: float
    quiet_s: float
    seconds: float


class TooShortError(ValueError):
    """The time given does not suffice; the text says how much does."""


def plan(minutes: float, seed: int, faults: Sequence[str], fault_s: float, baseline_s: float = BASELINE_S) -> Plan:
    """Each of ``faults`` once, with their controls and both outages, in so many minutes altogether.

    Raises TooShortError.
    """
    items = [(Kind.FAULT, name, fault_s) for name in faults]
    tools = {FAULTS[name].control for name in faults}
    items += [(Kind.CONTROL, name, CONTROL_S) for name in CONTROLS if name in tools]
    items += [(Kind.OUTAGE, name, OUTAGE_S) for name in OUTAGES]
    chance = random.Random(seed)
    chance.shuffle(items)
    first = chance.randrange(len(LOADS))
    active_s = sum(seconds for _, _, seconds in items)
    quiet_s = (60 * minutes - STARTUP_S - baseline_s - active_s) / (len(items) + 1)
    if quiet_s < LEAST_QUIET_S:
        needed_s = STARTUP_S + baseline_s + active_s + LEAST_QUIET_S * (len(items) + 1)
        raise TooShortError(
            f"--minutes {minutes:g} do not suffice for {len(faults)} faults of {fault_s:g} s with their controls and "
            f"at least {LEAST_QUIET_S:g} s of quiet between: at least {-(-needed_s // 60):.0f} are needed"
        )
    steps, now_s = [], 0.0
    for number, (kind, name, seconds) in enumerate(items):
        now_s += quiet_s
        steps.append(Step(kind, name, list(LOADS)[(first + number) % len(LOADS)], now_s, seconds))
        now_s += seconds
    return Plan(tuple(steps), baseline_s, quiet_s, now_s + quiet_s)
