"""What is flagged in the recorded runs: do two settings agree, which subsystems lead, and are runs alike."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from bench.detection.events import Bools
from bench.detection.replay import Live, learned, live
from bench.paper.bench import Bench
from bench.paper.flags import printed
from bench.paper.overlap import agreement, painted
from bench.paper.recorded import DEFAULT, FINE, Past, leading
from bench.paper.row import CannotMeasureError, Row, percent
from bench.paper.stability import SIGNIFICANT, many_choices, stability
from bench.workloads.registry import WORKLOADS
from detector.features import Features

_LEARNED = 0.5  # of the windows: a first part that what comes later is judged by
_GRID_S = 0.5


def judged(past: Past, name: str) -> tuple[Features, Live]:
    """The windows after those that were learned, with what the running pipeline says of each.

    Raises CannotMeasureError where there are too few.
    """
    judge_by = past.judge(name)
    windows = past.windows(judge_by)
    count = int(_LEARNED * len(windows.end_s))
    if count < judge_by.least_rows:
        raise CannotMeasureError(f"{len(windows.end_s)} windows were recorded, too few to learn from: run it longer")
    first, rest = (Features(windows.end_s[part], windows.x[part], windows.features)
                   for part in (slice(0, count), slice(count, None)))  # fmt: skip
    return rest, live(rest, learned(first, judge_by), judge_by, np.zeros(len(rest.end_s), dtype=bool))


def agreed(bench: Bench) -> list[Row]:
    """Whether what default windows flag fine ones do: by the paper's rule, and by the calibrated one."""
    past = bench.past
    found = {name: judged(past, name) for name in (DEFAULT, FINE)}
    first_s, last_s = (found[DEFAULT][0].end_s[at] for at in (0, -1))
    grid_s = np.arange(first_s, last_s, _GRID_S)
    rules: Mapping[str, Mapping[str, Bools]] = {
        "printed": {name: printed(windows) for name, (windows, _) in found.items()},
        "calibrated": {name: said.score > 1.0 for name, (_, said) in found.items()},
    }
    rows = []
    for rule, flags in rules.items():
        on = {
            name: painted(flags[name], found[name][0].end_s, past.judge(name).window_s, grid_s)
            for name in (DEFAULT, FINE)
        }
        both = agreement(on[DEFAULT], on[FINE])
        theirs = ("0.92", "0.50") if rule == "printed" else ("", "")
        none = "nothing was flagged" if math.isnan(both.hit_rate) else ""
        rows += [
            Row(f"hit_rate_{rule}", f"hit rate, default against fine, {rule} rule", theirs[0], round(both.hit_rate, 3),
                note=none),
            Row(f"hit_rate_{rule}_chance", "… of the same alarms at another time", "", round(both.chance_hit_rate, 3)),
            Row(f"iou_{rule}", f"IoU, default against fine, {rule} rule", theirs[1], round(both.iou, 3), note=none),
            Row(f"iou_{rule}_chance", "… of the same alarms at another time", "", round(both.chance_iou, 3)),
        ]  # fmt: skip
    return rows


def patterns(bench: Bench) -> list[Row]:
    """Which subsystem leads in the flagged windows of each kind of work, by the paper's rule."""
    past = bench.past
    windows, said = judged(past, DEFAULT)
    flags = printed(windows)
    rows = []
    for environment, names in _environments(past).items():
        during = past.during(windows.end_s, names)
        led = leading(said.shares, flags & during)
        parts = ", ".join(f"{name} {share:.0%}" for name, share in sorted(led.items(), key=lambda each: -each[1]))
        flagged = int((flags & during).sum())
        rows.append(
            Row(f"flagged_percent_{environment}", f"windows flagged in {environment}, and what led", "",
                percent(flagged / during.sum()) if during.any() else math.nan, "%", parts or "none was flagged")
        )  # fmt: skip
        rows += [
            Row(f"led_percent_{environment}_{name}", f"… led by {name}", "", percent(share), "%")
            for name, share in led.items()
        ]
    return rows


def _environments(past: Past) -> dict[str, frozenset[str]]:
    ran = {WORKLOADS[run.workload] for run in past.runs.runs}
    kinds: dict[str, set[str]] = {}
    for workload in sorted(ran, key=lambda each: each.name):
        kinds.setdefault("distributed" if workload.ranks > 1 else workload.kind, set()).add(workload.name)
    return {kind: frozenset(names) for kind, names in kinds.items()}


def stable(bench: Bench) -> list[Row]:
    """Whether runs of a workload are like each other: permutation tests, metric by metric."""
    past = bench.past
    names = [run.workload for run in past.runs.runs]
    turns = np.array([run.turn for run in past.runs.runs], dtype=np.intp)
    ways = many_choices(turns)
    if ways * SIGNIFICANT <= 1:
        raise CannotMeasureError(f"{len(names)} runs can be chosen in {ways} ways only, too few for p < {SIGNIFICANT}")
    found = stability(past.profiles(), names, turns, bench.length.choices)
    left_out = ", ".join(f"{name} {why}" for name, why in past.runs.lacking.items())
    ran = f"{found.pairs} pairs of {len(set(names))} workloads, {len(names)} runs"
    return [
        Row("stable_percent", "workload-metric pairs with p < 0.05", "99.75 %", percent(found.share), "%", ran),
        Row("stable_percent_chance", "… with the runs' workloads shuffled", "", percent(found.chance_share), "%"),
        Row(
            "within_to_between",
            "distance within a workload to between, median",
            "",
            round(found.ratio, 3),
            "",
            left_out,
        ),
    ]
