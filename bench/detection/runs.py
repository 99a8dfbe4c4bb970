"""Figures of runs with injected faults: ranking at the same elapsed time, alarms, and whom an opening blames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass

import numpy as np

from bench.detection.events import alarmed, episodes, spans
from bench.detection.hpas import INTERVAL_S, SUBSYSTEM, Bits, Judged, Plan, judged
from bench.detection.machines import RANDOM
from bench.detection.paired import paired_roc
from bench.detection.replay import Live, shipped_judge
from bench.detection.report import mean
from bench.detection.sets import Figures, Options
from detector.frame import Floats
from detector.fusion import causal_mean
from detector.model import FUSED

POSITION = "position"  # a score that knows the elapsed time and nothing else
_RUNS_AT_ONCE = 10  # by one process, which learns from the clean run first


class Work:
    """The runs of one folder, some at a time in the pool."""

    def __init__(self, pool: Executor, plan: Plan, options: Options) -> None:
        self._plan, self._options = plan, options
        self._futures = [
            pool.submit(judged, plan, app, names[start : start + _RUNS_AT_ONCE], options)
            for app, names in plan.faulty.items()
            for start in range(0, len(names), _RUNS_AT_ONCE)
        ]
        count = sum(map(len, plan.faulty.values()))
        self.title = f"{plan.folder.name}, {count} runs, {plan.missing} without a file"

    def figures(self) -> Figures:
        """Over all runs; DataError where one cannot be used."""
        found = [each for future in self._futures for each in future.result()]
        result = figures(found, self._plan.faults, self._options.smooth) | {"runs_without_file": self._plan.missing}
        if self._options.times:
            return result
        shipped_s = shipped_judge(INTERVAL_S).window_s
        return result | {"times": float(np.mean([each.window_s for each in found])) / shipped_s}


@dataclass(frozen=True, slots=True)
class Openings:
    """Episodes that touch a fault: how many, how many blamed the right subsystem; and faults that none touched."""

    touching: int
    right: int
    missed: int


def openings(running: Live, bits: Bits, faults: Mapping[int, str]) -> Openings:
    """The right subsystems are those of the faults at an opening, or, where it was before any, of those met later."""
    label, touching, right = bits != 0, 0, 0
    for start, end in episodes(running.active, INTERVAL_S):
        if label[start:end].any():
            touching += 1
            met = int(bits[start]) or int(np.bitwise_or.reduce(bits[start:end]))
            right += running.subsystem[start] in {SUBSYSTEM[fault] for bit, fault in faults.items() if met & bit}
    return Openings(touching, right, sum(not running.active[start:end].any() for start, end in spans(label)))


def figures(runs: Sequence[Judged], faults: Mapping[int, str], smooth: int) -> Figures:
    """Rows by detector and ``position``; below, what the running pipeline blamed, where it ran."""
    chance = np.random.default_rng(0)
    window_s = shipped_judge(INTERVAL_S).window_s
    result: Figures = {}
    for name in runs[0].static.scores:
        alarms = [run.running.active if run.running and name == FUSED else run.static.alarms[name] for run in runs]
        rows = [
            asdict(alarmed(active, run.bits != 0, INTERVAL_S, window_s))
            for active, run in zip(alarms, runs, strict=True)
        ]
        scores = [causal_mean(run.static.scores[name], smooth) for run in runs]
        result[name] = {"paired_roc": _paired(runs, scores)} | mean(rows)
    result[RANDOM] = {"paired_roc": _paired(runs, [chance.random(len(run.bits)) for run in runs])}
    result[POSITION] = {"paired_roc": _paired(runs, [run.elapsed_s for run in runs])}
    found = [openings(run.running, run.bits, faults) for run in runs if run.running is not None]
    if found:
        touching = sum(each.touching for each in found)
        result["subsystem_at_1"] = sum(each.right for each in found) / touching if touching else np.nan
        result["touching_episodes"] = touching
        result["missed_intervals"] = sum(each.missed for each in found)
    return result


def _paired(runs: Sequence[Judged], scores: Sequence[Floats]) -> float:
    number = np.concatenate([np.full(len(run.bits), number) for number, run in enumerate(runs)])
    elapsed_s = np.concatenate([run.elapsed_s for run in runs])
    label = np.concatenate([run.bits != 0 for run in runs])
    return paired_roc(number, elapsed_s, label, np.concatenate(scores))
