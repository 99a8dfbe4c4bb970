"""Alarms against what was put in: what was found, how soon, what was raised beside it, and how much of it by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.faults.plan import Kind, Step
from bench.faults.suite import FAULTS

GRACE_S = 3.0  # an alarm so soon after a fault ended rests on windows that it is in
AFTER_S = 30.0  # what is written back or runs off after a fault belongs to it: such an alarm is neither found nor false


@dataclass(frozen=True, slots=True)
class Alarm:
    """From when to when it was raised, on the clock of the steps, and what it said."""

    start_s: float
    end_s: float
    subsystem: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """What one detector said in a run. ``scores`` are (time seen, score), empty for those that have none."""

    alarms: Sequence[Alarm]
    scores: Sequence[tuple[float, float]] = ()
    names_subsystems: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a detector made of one step."""

    step: Step
    alarm: Alarm | None
    score_delay_s: float = math.nan

    @property
    def active_delay_s(self) -> float:
        """From the injection to the alarm."""
        return self.alarm.start_s - self.step.start_s if self.alarm is not None else math.nan

    @property
    def subsystem_right(self) -> bool:
        """Whether the subsystem that was blamed is one of the right ones."""
        return self.alarm is not None and self.alarm.subsystem in FAULTS[self.step.name].subsystems

    @property
    def signature_right(self) -> bool:
        """Whether the first diagnosis is one of the right ones."""
        return self.alarm is not None and self.alarm.signature in FAULTS[self.step.name].signatures


def find(track: Track, steps: Sequence[Step]) -> list[Found]:
    """What was found of each step, in their order: an alarm counts that opens while the step is in."""
    return [Found(step, _opened(track.alarms, step), _score_delay_s(track.scores, step)) for step in steps]


def _opened(alarms: Sequence[Alarm], step: Step) -> Alarm | None:
    return next((one for one in alarms if step.start_s <= one.start_s <= step.end_s + GRACE_S), None)


def _score_delay_s(scores: Sequence[tuple[float, float]], step: Step) -> float:
    """Until the score passes its bound; NaN where it never does, or had passed it before."""
    before = [score for at_s, score in scores if at_s <= step.start_s]
    if before and before[-1] > 1:
        return math.nan
    within = (at_s for at_s, score in scores if step.start_s < at_s <= step.end_s + GRACE_S and score > 1)
    return next(within, math.nan) - step.start_s


def detected(found: Sequence[Found]) -> list[Found]:
    """The faults that were found and whose controls were not."""
    seen = {one.step.name for one in found if one.step.kind is Kind.CONTROL and one.alarm is not None}
    faults = (one for one in found if one.step.kind is Kind.FAULT and one.alarm is not None)
    return [one for one in faults if FAULTS[one.step.name].control not in seen]


def false_alarms(track: Track, steps: Sequence[Step], seconds: float) -> list[Alarm]:
    """Those that opened neither in a fault or control nor soon after one."""
    return [
        one
        for one in track.alarms
        if 0 <= one.start_s <= seconds
        and not any(step.start_s <= one.start_s <= step.end_s + AFTER_S for step in _put_in(steps))
    ]


def outside(track: Track, steps: Sequence[Step], seconds: float) -> tuple[int, float]:
    """How many those are, and the hours that they had for it."""
    taken_s = sum(min(step.end_s + AFTER_S, seconds) - step.start_s for step in _put_in(steps))
    return len(false_alarms(track, steps, seconds)), (seconds - taken_s) / 3600


def _put_in(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind is not Kind.OUTAGE]


def chance_hit_rate(track: Track, steps: Sequence[Step], seconds: float) -> float:
    """Share of the faults that the same alarms, turned by any time on a circle of the run's length, would find."""
    faults = [step for step in steps if step.kind is Kind.FAULT]
    starts = np.array([one.start_s for one in track.alarms if 0 <= one.start_s <= seconds])
    if not len(starts) or not faults:
        return 0.0
    turns = np.arange(0.0, seconds, 1.0)
    turned = (starts[None, :] + turns[:, None]) % seconds
    hits = [((turned >= step.start_s) & (turned <= step.end_s + GRACE_S)).any(axis=1).mean() for step in faults]
    return float(np.mean(hits))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share does not exceed; None of none."""
    known = sorted(value for value in values if not math.isnan(value))
    return round(known[max(0, math.ceil(share * len(known)) - 1)], 2) if known else None


def figures(track: Track, steps: Sequence[Step], seconds: float) -> dict[str, float | None]:
    """What one detector reached; what it does not say, such as a subsystem, has no figure."""
    found = detected(find(track, steps))
    alarms, hours = outside(track, steps, seconds)
    delays_s = [one.active_delay_s for one in found]
    named: dict[str, float | None] = {}
    scored: dict[str, float | None] = {}
    if track.names_subsystems:
        named["subsystem_right"] = sum(one.subsystem_right for one in found)
        named["signature_right"] = sum(one.signature_right for one in found)
        scored["score_delay_s_p50"] = quantile([one.score_delay_s for one in found], 0.5)
    return {
        "faults": sum(step.kind is Kind.FAULT for step in steps),
        "detected": len(found),
        **named,
        **scored,
        "active_delay_s_p50": quantile(delays_s, 0.5),
        "active_delay_s_p90": quantile(delays_s, 0.9),
        "alarms_outside_faults": alarms,
        "hours_outside": round(hours, 3),
        "chance_hit_rate": round(chance_hit_rate(track, steps, seconds), 4),
    }


def intervals(times_s: Sequence[float], active: Sequence[bool], apart_s: float) -> list[Alarm]:
    """Alarms from a series of states: one lasts while it is on, and goes on where it was off for less than so long."""
    alarms: list[Alarm] = []
    for at_s, on in zip(times_s, active, strict=True):
        if not on:
            continue
        if alarms and at_s - alarms[-1].end_s <= apart_s:
            alarms[-1] = Alarm(alarms[-1].start_s, at_s)
        else:
            alarms.append(Alarm(at_s, at_s))
    return alarms
