"""One simulated job under the comparison with peers: what it alarms on, and how soon it finds what is put in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.peers.job import CHANNELS, HOSTS, INTERVAL_S, SERIES, SHIFTED, WINDOW_S, Job, Kind, windows
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.calibration import alarm_statistic
from detector.episode import CLOSE_AT, MERGE_S
from detector.features import Feature
from detector.frame import Floats
from detector.judge import DAY_S, Judge
from detector.peers import PeerModel, fit_peers
from detector.schedule import smoothing
from detector.training import BLOCK_ROWS, MOST_BLOCKS, Float32s

LEARNED_SHARE = 0.5  # of a job's life; the rest is judged
SHIFTS = (2.0, 4.0, 8.0)  # deviations of noise
FAULT_S, BEFORE_S = 60, 20
JUDGE = Judge(window_s=WINDOW_S, stride_s=INTERVAL_S, smoothing=smoothing(WINDOW_S, INTERVAL_S))


@dataclass(frozen=True, slots=True)
class Plan:
    """A job to live through: its kind, seed and hours, and how many faults are put in for each size of shift."""

    kind: Kind
    seed: int
    hours: float
    faults: int


@dataclass(frozen=True, slots=True)
class Found:
    """A fault of some size, and after how many seconds it was alarmed on and paged; NaN where never."""

    shift: float
    warned_s: float
    paged_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """``host_days`` judged, false episodes that warned and that paged, and what was found."""

    host_days: float
    warnings: int
    pages: int
    found: tuple[Found, ...]


def lived(plan: Plan) -> Outcome:
    """Live through a plan."""
    samples = Job(plan.kind, plan.seed).samples(round(plan.hours * 3600))
    features = windows(samples[0][:2], 0.0).features
    kept = [column for column, feature in enumerate(features) if feature.statistic in ("mean", "change")]
    chosen = tuple(features[column] for column in kept)
    x = np.stack([windows(each, 0.0).x[:, kept].astype(np.float32) for each in samples])  # as a running host has it
    ordered = np.sort(x, axis=0)
    start = round(LEARNED_SHARE * x.shape[1])
    chance = np.random.default_rng([plan.seed, 1])
    warnings, pages, found = 0, 0, list[Found]()
    for host in range(HOSTS):
        own = x[host].astype(np.float64)
        middle = _middle(ordered, x[host])
        model = _learned(own[:start], middle[:start], chosen)
        bounds = (1.0, model.calibration.page_score())
        levels = _scores(model, own[start:], middle[start:])
        warnings += _episodes(levels, bounds[0])
        pages += _episodes(levels, bounds[1])
        for shift in SHIFTS:
            for _ in range(math.ceil(plan.faults / HOSTS)):
                at = int(chance.integers(start + BEFORE_S, x.shape[1] - FAULT_S))
                part = slice(at - BEFORE_S, at + FAULT_S)
                shifted = _shifted(samples[host][part], shift, chance)
                levels = _scores(model, windows(shifted, 0.0).x[:, kept], middle[part])[BEFORE_S:]
                found.append(Found(shift, *(_first(levels > bound) for bound in bounds)))
    return Outcome(HOSTS * (x.shape[1] - start) * INTERVAL_S / DAY_S, warnings, pages, tuple(found))


def _middle(ordered: Float32s, own: Float32s) -> Floats:
    """Median [T, F] of the others, of all hosts' values in order [H, T, F]."""
    place = (ordered < own).sum(axis=0)[None]
    at = (HOSTS - 1) // 2
    middle: Floats = np.take_along_axis(ordered, at + (at >= place), axis=0)[0].astype(np.float64)
    return middle


def _learned(x: Floats, middle: Floats, features: tuple[Feature, ...]) -> PeerModel:
    """The model of a host that has seen this, as it is once its largest values were counted."""
    ends_s = INTERVAL_S * np.arange(len(x), dtype=np.float64)
    starts = np.linspace(BEFORE_S, len(x) - BLOCK_ROWS, MOST_BLOCKS).astype(np.intp)
    rows = (starts[:, None] + np.arange(BLOCK_ROWS)).ravel()
    maxima = np.empty(0)
    for _ in range(2):  # the first model tells the largest values that the bounds of the second are set on
        rule = JUDGE.sudden.shared(2)
        per_day = DAY_S / JUDGE.maxima_period_s
        model = fit_peers(
            ends_s[rows], x[rows], middle[rows], features, WINDOW_S, maxima, per_day, rule, JUDGE.smoothing
        )
        levels = _levels(model, x, middle)[BEFORE_S:]
        minutes = len(levels) // round(JUDGE.maxima_period_s)
        maxima = levels[: minutes * round(JUDGE.maxima_period_s)].reshape(minutes, -1).max(axis=1)
    return model


def _smoothed(model: PeerModel, x: Floats, middle: Floats) -> Floats:
    """Scores [T], smoothed as those of a running host."""
    return JUDGE.smoothing.over(model.normalised(model.deviations(x, middle)))


def _levels(model: PeerModel, x: Floats, middle: Floats) -> Floats:
    """The alarm statistic [T] on the scale that is calibrated."""
    return JUDGE.sudden.statistic(_smoothed(model, x, middle))


def _scores(model: PeerModel, x: Floats, middle: Floats) -> Floats:
    """The alarm statistic [T] as a score."""
    scores = model.calibration.score(_smoothed(model, x, middle))
    return alarm_statistic(scores, JUDGE.votes, JUDGE.of)


def _episodes(levels: Floats, bound: float) -> int:
    """How many episodes open, with those left out that follow another one closely."""
    rows = np.flatnonzero(levels > CLOSE_AT)
    count, closed = 0, -math.inf
    for stretch in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        over = stretch[levels[stretch] > bound]
        if len(over):
            count += bool(over[0] - closed > MERGE_S / INTERVAL_S)
            closed = float(stretch[-1])
    return count


def _shifted(samples: Floats, shift: float, chance: np.random.Generator) -> Floats:
    """Samples [T, S] with some series of one subsystem shifted after the first ``BEFORE_S``."""
    subsystem = chance.choice(JUDGED_SUBSYSTEMS)
    own = [number for number in range(SERIES) if CHANNELS[number].subsystem == subsystem]
    result = samples.copy()
    result[BEFORE_S:, chance.choice(own, SHIFTED, replace=False)] += shift
    return result


def _first(holds: Sequence[bool] | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    rows = np.flatnonzero(holds)
    return float(rows[0] + 1) * INTERVAL_S if len(rows) else math.nan
