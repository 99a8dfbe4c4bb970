"""What a run is told as: a table of the steps, one of the detectors, and one line of JSON."""

from __future__ import annotations

import math
from typing import Any

from bench.faults.matching import Found, Track, false_alarms, figures, find
from bench.faults.plan import Kind
from bench.faults.run import EMBEDDED, Outcome

_COLUMNS = (
    ("detected", "detected"), ("subsystem_right", "subsystem"), ("signature_right", "signature"),
    ("score_delay_s_p50", "score_s"), ("active_delay_s_p50", "active_s"), ("active_delay_s_p90", "p90_s"),
    ("alarms_outside_faults", "outside"), ("hours_outside", "hours"), ("chance_hit_rate", "chance"),
)  # fmt: skip


def summary(outcome: Outcome) -> dict[str, Any]:
    """The JSON: what the embedded detector reached, and ``peers`` with the same of the others."""
    told = {name: figures(track, outcome.steps, outcome.seconds) for name, track in outcome.tracks.items()}
    return {**told[EMBEDDED], "peers": {name: row for name, row in told.items() if name != EMBEDDED}}


def tables(outcome: Outcome) -> str:
    """Both tables, and between them what the embedded detector raised beside what was put in."""
    return "\n\n".join(part for part in (_steps(outcome), _false(outcome), _detectors(outcome)) if part)


def _steps(outcome: Outcome) -> str:
    """Each step, what the embedded detector made of it, and after how many seconds the others raised an alarm."""
    others = {name: find(track, outcome.steps) for name, track in outcome.tracks.items() if name != EMBEDDED}
    lines = [f"{'':<9}{'':<14}{'load':<10}{'blamed':<12}{'diagnosis':<22}{'score_s':>8}{'active_s':>9}" + "".join(
        f"{name:>22}" for name in others
    )]  # fmt: skip
    for number, one in enumerate(find(outcome.tracks[EMBEDDED], outcome.steps)):
        delays = "".join(f"{_cell(found[number].active_delay_s):>22}" for found in others.values())
        blamed = _blamed(one, outcome.tracks[EMBEDDED])
        diagnosis = (one.alarm.signature if one.alarm is not None else "") or "-"
        lines.append(
            f"{one.step.kind:<9}{one.step.name:<14}{one.step.load:<10}{blamed:<12}{diagnosis:<22}"
            f"{_cell(one.score_delay_s):>8}{_cell(one.active_delay_s):>9}{delays}"
        )
    return "\n".join(lines)


def _blamed(one: Found, track: Track) -> str:
    """The subsystem; one that is wrong to blame with a mark; or that an alarm was there already."""
    if one.alarm is None:
        return "(before)" if any(other.start_s < one.step.start_s <= other.end_s for other in track.alarms) else "-"
    right = one.step.kind is not Kind.FAULT or one.subsystem_right
    return one.alarm.subsystem + ("" if right else " (!)")


def _false(outcome: Outcome) -> str:
    alarms = false_alarms(outcome.tracks[EMBEDDED], outcome.steps, outcome.seconds)
    return "\n".join(
        f"outside  {one.start_s:.0f} to {one.end_s:.0f} s: {one.subsystem} {one.signature or '-'}" for one in alarms
    )


def _detectors(outcome: Outcome) -> str:
    lines = [f"{'':<22}" + "".join(f"{heading:>11}" for _, heading in _COLUMNS)]
    for name, track in outcome.tracks.items():
        row = figures(track, outcome.steps, outcome.seconds)
        lines.append(f"{name:<22}" + "".join(f"{_cell(row.get(key)):>11}" for key, _ in _COLUMNS))
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
