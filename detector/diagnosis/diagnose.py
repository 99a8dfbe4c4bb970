"""Diagnosis: which signatures fit what moved, and how well. A pure function of deviations and signatures.

A signature's confidence is the part of its clues that is there, times how much of all that moved it explains, less what
speaks against it. So of two that fit, the one comes first that leaves less unexplained.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from catalog.signal import Role
from detector.channels import Channel
from detector.diagnosis.finding import Evidence, Finding
from detector.diagnosis.signature import Clue, Signature

# Deviations from which on a clue is as strong as can be. An event that never happens is told by one of them.
_FULL = {Role.ERROR: 5.0, Role.STATE: 6.0, Role.SATURATION: 8.0, Role.UTILISATION: 10.0}
_LEAST = 1.5  # what deviates by less in the mean of many windows may be chance
_NEEDED = 0.4  # strength that a needed clue must have
_UNEXPLAINED = 0.4  # how much confidence depends on what a signature explains
_UNSEEN = 0.5
_ROLE_WEIGHT = {Role.ERROR: 1.0, Role.STATE: 1.0, Role.SATURATION: 1.0, Role.UTILISATION: 0.25}
LEAST_CONFIDENCE = 0.3
MOST_FINDINGS = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """What one channel did: its signed ``deviation`` from the usual beyond that before the onset; NaN = unknown."""

    channel: Channel
    deviation: float
    typical: float
    actual: float


Observed = Mapping[str, Sequence[Moved]]


def diagnose(moved: Iterable[Moved], signatures: Iterable[Signature]) -> tuple[Finding, ...]:
    """The signatures that fit, the most likely first; none where nothing fits well enough."""
    observed = _by_signal(moved)
    strengths = _strengths(observed)
    found = [_finding(signature, observed, strengths) for signature in signatures]
    fitting = [one for one in found if one.confidence >= LEAST_CONFIDENCE]
    return tuple(sorted(fitting, key=lambda one: -one.confidence)[:MOST_FINDINGS])


def strength(deviation: float, role: Role) -> float:
    """How much a deviation says, 0 to 1, by the logarithm of its size.

    >>> strength(1.5, Role.ERROR), strength(5.0, Role.ERROR), round(strength(4.0, Role.UTILISATION), 2)
    (0.0, 1.0, 0.52)
    """
    if not deviation > _LEAST:
        return 0.0
    return min(1.0, math.log(deviation / _LEAST) / math.log(_FULL[role] / _LEAST))


def _by_signal(moved: Iterable[Moved]) -> Observed:
    observed: dict[str, list[Moved]] = defaultdict(list)
    for one in moved:
        if math.isfinite(one.deviation):
            observed[one.channel.series.name].append(one)
    return observed


def _strengths(observed: Observed) -> dict[str, float]:
    """How much each signal moved in either direction, weighed by what kind of thing it tells."""
    return {
        name: max(strength(abs(one.deviation), one.channel.role) * _ROLE_WEIGHT[one.channel.role] for one in several)
        for name, several in observed.items()
    }


def _finding(signature: Signature, observed: Observed, strengths: Mapping[str, float]) -> Finding:
    speaks_for = _evidence(signature.clues, observed)
    speaks_against = _evidence(signature.doubts, observed)
    found = sum(clue.weight * one.strength for clue, one in speaks_for)
    doubt = sum(clue.weight * one.strength for clue, one in speaks_against)
    explained = {clue.signal for clue in signature.clues}
    moved = sum(strengths.values())
    part = sum(strengths.get(name, 0.0) for name in explained) / moved if moved else 0.0
    whole = _weight(signature.clues, observed)
    # Asked of each by itself: another of its group, which need not be there, may show more and be told in its place.
    needed = (_strongest(clue, observed.get(clue.signal, ())) for clue in signature.clues if clue.needed)
    fits = any(one is not None and one.strength >= _NEEDED for one in needed)
    confidence = max(0.0, found - doubt) / whole * (1 - _UNEXPLAINED * (1 - part)) if fits else 0.0
    return Finding.model_validate(
        {
            "name": signature.name,
            "title": signature.title,
            "subsystem": signature.subsystem,
            "confidence": round(min(1.0, confidence), 3),
            "for": tuple(one for _, one in speaks_for),
            "against": tuple(one for _, one in speaks_against),
        }
    )


def _weight(clues: Sequence[Clue], observed: Observed) -> float:
    """What all clues weigh together, each group once; one that the host has no signal for counts by half."""
    heaviest: dict[str, float] = {}
    for number, clue in enumerate(clues):
        key = clue.group or str(number)
        weight = clue.weight * (1.0 if clue.signal in observed else _UNSEEN)
        heaviest[key] = max(heaviest.get(key, 0.0), weight)
    return sum(heaviest.values())


def _evidence(clues: Sequence[Clue], observed: Observed) -> list[tuple[Clue, Evidence]]:
    """The clues that are there, each by the channel that shows it most, and one of each group."""
    found: dict[str, tuple[Clue, Evidence]] = {}
    for number, clue in enumerate(clues):
        shown = _strongest(clue, observed.get(clue.signal, ()))
        key = clue.group or str(number)
        if shown is not None and (key not in found or _worth(clue, shown) > _worth(*found[key])):
            found[key] = clue, shown
    return sorted(found.values(), key=lambda pair: -_worth(*pair))


def _worth(clue: Clue, evidence: Evidence) -> float:
    return clue.weight * evidence.strength


def _strongest(clue: Clue, several: Sequence[Moved]) -> Evidence | None:
    wanted = set(clue.labels.items())
    sign = 1.0 if clue.direction == "higher" else -1.0
    fitting = [one for one in several if wanted.issubset(one.channel.series.labels)]
    most = max(fitting, key=lambda one: sign * one.deviation, default=None)
    if most is None:
        return None
    strong = strength(sign * most.deviation, most.channel.role)
    if not strong:
        return None
    return Evidence(
        signal=clue.signal,
        channel=str(most.channel),
        direction=clue.direction,
        unit=most.channel.unit,
        typical=most.typical,
        actual=most.actual,
        deviation=most.deviation,
        strength=round(strong, 3),
        why=clue.why,
    )
