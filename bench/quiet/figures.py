"""What many lives come to: alarms a host-day with their upper bound, and how much of what was put in was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from scipy.stats import chi2

from bench.quiet.fault import PLANTED
from bench.quiet.life import Alarm, Found, Life
from detector.verdict import Phase

Figures = dict[str, Any]

_CONFIDENCE = 0.95


def upper_bound(count: int, days: float) -> float:
    """The rate that so few events in so many days speak against, with 95 % confidence (Poisson).

    >>> round(upper_bound(0, 60.0), 3)
    0.05
    """
    return float(chi2.ppf(_CONFIDENCE, 2 * (count + 1))) / 2 / days if days else math.nan


def figures(lives: Sequence[Life]) -> Figures:
    """All figures of hosts that were sampled alike."""
    judged = (Phase.PROVISIONAL, Phase.CALIBRATED)
    return {
        "hosts": len(lives),
        **_quiet(lives, judged),
        "calibrated": _quiet(lives, (Phase.CALIBRATED,)),
        "profiles": {
            name: _quiet(own, judged) | {"detected": _detected(own)}
            for name in dict.fromkeys(life.profile for life in lives)
            for own in ([life for life in lives if life.profile == name],)
        },
        "fits": sum(life.fits for life in lives),
        "rebaselines": sum(life.rebaselines for life in lives),
        "found": _power([found for life in lives for found in life.found]),
    }


def _quiet(lives: Sequence[Life], phases: Sequence[Phase]) -> Figures:
    days = sum(life.days[str(phase)] for life in lives for phase in phases)
    alarms = [alarm for life in lives for alarm in life.alarms if alarm.phase in phases]
    return {"host_days": days, **_rate("warning", alarms, days), **_rate("page", [a for a in alarms if a.page], days)}


def _rate(name: str, alarms: Sequence[Alarm], days: float) -> Figures:
    count = len(alarms)
    per_day = count / days if days else math.nan
    return {f"{name}s": count, f"{name}_per_day": per_day, f"{name}_upper_95": upper_bound(count, days)}


def _power(found: Sequence[Found]) -> Figures:
    """By kind of fault; the share that was detected also by subsystem."""
    names = dict.fromkeys(planted.subsystem for planted in PLANTED)
    result: Figures = {}
    for kind in dict.fromkeys(planted.kind for planted in PLANTED):
        of_kind = [each for each in found if each.kind == kind]
        seen = [each for each in of_kind if not math.isnan(each.delay_s)]
        result[kind] = {
            "faults": len(of_kind),
            "detected": _share(len(seen), len(of_kind)),
            "delay_s": median(each.delay_s for each in seen) if seen else math.nan,
            "right": _share(sum(each.blamed == each.subsystem for each in seen), len(seen)),
        }
        for name in names:
            delays_s = [each.delay_s for each in of_kind if each.subsystem == name]
            result[kind][name] = _share(sum(not math.isnan(delay_s) for delay_s in delays_s), len(delays_s))
    return result


def _detected(lives: Sequence[Life]) -> Figures:
    """The share that was detected, by kind of fault."""
    rows = _power([found for life in lives for found in life.found])
    return {kind: row["detected"] for kind, row in rows.items()}


def _share(part: int, of: int) -> float:
    return part / of if of else math.nan
