"""All figures of one machine, and their means over the machines of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.detection.blame import blamed
from bench.detection.events import alarmed
from bench.detection.points import causal_mean, rank
from bench.detection.replay import Live, Scored, features_of, learned, live, scored, shipped_judge
from bench.detection.sets import Declared, Machine, load
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.model import FUSED
from detector.pipeline import Judge

RANDOM = "random"
Figures = dict[str, Any]


def measure(path: Path, declared: Declared, smooth: int, quick: bool, dump: Path | None) -> Figures:
    """Figures of the machine in ``path``; ``quick``: without the running pipeline, alarms by the first model alone."""
    machine = load(path, declared)
    judge_by = shipped_judge(machine.interval_s)
    train = features_of(machine.train, machine.channels, machine.interval_s, judge_by)
    test = features_of(machine.test, machine.channels, (len(machine.train) + 1) * machine.interval_s, judge_by)
    state = learned(train, judge_by)
    assert state.model is not None, "a fit leaves a model"
    static = scored(state.model, test.x, judge_by)
    running = None if quick else live(test, state, judge_by)
    if dump is not None:
        held = scored(state.model, train.x, judge_by)
        _dump(dump / path.parent.name, machine, static, held, running)
    return _figures(machine, static, running, judge_by, smooth)


def _figures(machine: Machine, static: Scored, running: Live | None, judge_by: Judge, smooth: int) -> Figures:
    chance = np.random.default_rng(0)
    scores = static.scores | {RANDOM: chance.random(len(machine.label))}
    alarms = static.alarms | ({FUSED: running.active} if running else {})
    alarms[RANDOM] = np.roll(alarms[FUSED], int(chance.integers(len(machine.label))))
    figures: Figures = {
        name: asdict(rank(machine.label, causal_mean(score, smooth)))
        | asdict(alarmed(alarms[name], machine.label, machine.interval_s, judge_by.window_s))
        for name, score in scores.items()
    }
    if running is None:
        return figures
    owner = np.array([[c.subsystem == name for c in machine.channels] for name in JUDGED_SUBSYSTEMS])
    if len({channel.subsystem for channel in machine.channels}) == 1:
        owner[:] = False
    figures |= asdict(blamed(machine.segments, machine.truth, running.evidence, running.shares, owner))
    return figures | {"refits": running.fits, "rebaselines": running.rebaselines}


def _dump(folder: Path, machine: Machine, static: Scored, held: Scored, running: Live | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arrays: Figures = {f"test/{name}": score for name, score in static.scores.items()}
    arrays |= {f"train/{name}": score for name, score in held.scores.items()}
    if running is not None:
        arrays |= {"active": running.active, "shares": running.shares, "evidence": running.evidence}
    np.savez_compressed(
        folder / f"{machine.name}.npz",
        label=machine.label, segments=machine.segments, truth=machine.truth, z=static.z, **arrays,
    )  # fmt: skip


def mean(machines: Sequence[Figures]) -> Figures:
    """Mean of each figure over those machines that have one; NaN where none has."""
    result: Figures = {}
    for name, first in machines[0].items():
        values = [machine[name] for machine in machines]
        if isinstance(first, dict):
            result[name] = mean(values)
        else:
            known = [value for value in values if not np.isnan(value)]
            result[name] = float(np.mean(known)) if known else np.nan
    return result
