"""All figures of one machine, and their means over the machines of a data set."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path

import numpy as np

from bench.detection.blame import blamed
from bench.detection.events import alarmed, inside
from bench.detection.points import rank
from bench.detection.replay import (
    Live,
    Scored,
    features_of,
    learned,
    live,
    scored,
    shipped_judge,
    times_asked_for,
)
from bench.detection.report import mean, table
from bench.detection.sets import Declared, Figures, Machine, Options, files, load
from bench.detection.vus import period, vus_pr
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.features import Features
from detector.fusion import causal_mean
from detector.judge import Judge
from detector.model import FUSED
from detector.state import HostState

RANDOM = "random"
LIVE = "live"  # the fused score of the running pipeline, which learns on


class Work:
    """The machines of one folder, each measured by itself in the pool."""

    def __init__(self, pool: Executor, folder: Path, declared: Declared, options: Options) -> None:
        self._options = options
        self._futures = {path.stem: pool.submit(measure, path, declared, options) for path in files(folder)}
        self.title = f"{folder.name}, {len(self._futures)} machines"

    def figures(self) -> Figures:
        """Means over machines; DataError where one cannot be used."""
        found = {name: future.result() for name, future in self._futures.items()}
        if self._options.each:
            for name, figures in found.items():
                print(table(name, figures))
        return mean(list(found.values()))


def measure(path: Path, declared: Declared, options: Options) -> Figures:
    """Figures of the machine in ``path``; quick ones have no running pipeline, alarms are the first model's."""
    machine = load(path, declared)
    times = options.times or times_asked_for(*_learned(machine, 1.0, options.strides)[:2])
    state, judge_by, train = _learned(machine, times, options.strides)
    assert state.model is not None, "a fit leaves a model"
    first_s, strides = (len(machine.train) + 1) * machine.interval_s, options.strides
    test = features_of(machine.test, machine.channels, first_s, judge_by, strides)
    rows = np.arange(len(machine.label)) // strides  # what the newest window said is said until the next one
    static, running = scored(state.model, test.x, judge_by).at(rows), None
    if not options.quick:
        weighed = inside(machine.segments, len(machine.label))[::strides]
        running = live(test, state, judge_by, weighed).at(rows)
    if options.dump is not None:
        held = scored(state.model, train.x, judge_by)
        _dump(options.dump / path.parent.name, machine, static, held, running)
    figures = _figures(machine, static, running, options.smooth)
    return figures if options.times else figures | {"times": times}


def _learned(machine: Machine, times: float, strides: int) -> tuple[HostState, Judge, Features]:
    """The machine after its train split, how it is judged, and the windows that it was learned from."""
    judge_by = shipped_judge(machine.interval_s, times, strides)
    train = features_of(machine.train, machine.channels, machine.interval_s, judge_by, strides)
    return learned(train, judge_by), judge_by, train


def _figures(machine: Machine, static: Scored, running: Live | None, smooth: int) -> Figures:
    chance = np.random.default_rng(0)
    scores = static.scores | {RANDOM: chance.random(len(machine.label))} | ({LIVE: running.score} if running else {})
    alarms = static.alarms | ({FUSED: running.active} if running else {})
    alarms[RANDOM] = np.roll(alarms[FUSED], int(chance.integers(len(machine.label))))
    longest = period(machine.test[:, 0])
    window_s = shipped_judge(machine.interval_s).window_s  # how late still counts is the same for all windows
    figures: Figures = {}
    for name, score in scores.items():
        smoothed = causal_mean(score, smooth)
        figures[name] = asdict(rank(machine.label, smoothed)) | {"vus_pr": vus_pr(machine.label, smoothed, longest)}
    for name, active in alarms.items():
        figures[name] |= asdict(alarmed(active, machine.label, machine.interval_s, window_s))
    return figures | (_blame(machine, running) if running else {})


def _blame(machine: Machine, running: Live) -> Figures:
    owner = np.array([[channel.subsystem == name for channel in machine.channels] for name in JUDGED_SUBSYSTEMS])
    if owner.any(axis=1).sum() == 1:
        owner[:] = False  # columns without names: nobody knows whose they are
    figures = asdict(blamed(machine.segments, machine.truth, running.evidence, running.shares, owner))
    return figures | {"refits": running.fits, "rebaselines": running.rebaselines}


def _dump(folder: Path, machine: Machine, static: Scored, held: Scored, running: Live | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arrays: Figures = {f"test/{name}": score for name, score in static.scores.items()}
    arrays |= {f"train/{name}": score for name, score in held.scores.items()}
    if running is not None:
        arrays |= {
            "live": running.score,
            "active": running.active,
            "shares": running.shares,
            "evidence": running.evidence,
        }
    np.savez_compressed(
        folder / f"{machine.name}.npz",
        label=machine.label, segments=machine.segments, truth=machine.truth, z=static.z, **arrays,
    )  # fmt: skip
