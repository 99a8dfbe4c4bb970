"""The shipped pipeline over arrays: learned from the train split as a running host is, then judged window by window."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from catalog.signal import JUDGED_SUBSYSTEMS
from detector import schedule
from detector.channels import Channel, Channels
from detector.features import Features, by_channel, extract
from detector.frame import Floats
from detector.judge import Judge
from detector.learning import due, fit, window_wanted_s
from detector.model import FUSED, Model, Parts, judge, rate
from detector.pipeline import evidence_now, judge_window
from detector.settings import TABLE
from detector.state import HostState
from detector.timescale import followed
from detector.training import MOST_ROWS, Training
from detector.verdict import Verdict
from detector.watch import judge_for

ADAPTIVE_LIMIT = 4.0
_CHUNK_ROWS = 1000

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Window(Features):
    """One of many windows with the same features: their names are not made anew for each."""

    known: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """See ``Features``."""
        return self.known


@dataclass(slots=True)
class _Ahead:
    """Raw scores [K, D] of the deviations ``z`` [K, F] of windows to come, and which of them is next."""

    z: Floats
    raw: Floats
    row: int = 0


@dataclass(frozen=True, slots=True)
class _Foreseeing(Parts):
    """Parts that score the windows to come together, as that is cheaper; the scores are the same, row by row."""

    ahead: _Ahead

    def raw(self, z: Floats) -> Floats:
        """See ``Parts``."""
        row, self.ahead.row = self.ahead.row, self.ahead.row + 1
        if row < len(self.ahead.z) and np.array_equal(z, self.ahead.z[row : row + 1], equal_nan=True):
            return self.ahead.raw[row : row + 1]
        return Parts.raw(self, z)


@dataclass(frozen=True, slots=True)
class Scored:
    """What one model says of windows, by row of the table: scores [N], without bound, and at the bound of each the
    alarm rule's verdict bool[N]; ``random`` is not among them. ``z`` float32[N, F] are the deviations."""

    scores: dict[str, Floats]
    alarms: dict[str, Bools]
    z: npt.NDArray[np.float32]

    def at(self, rows: npt.NDArray[np.intp]) -> Scored:
        """Of these windows."""
        scores = {name: each[rows] for name, each in self.scores.items()}
        alarms = {name: each[rows] for name, each in self.alarms.items()}
        return Scored(scores, alarms, self.z[rows])


@dataclass(frozen=True, slots=True)
class Live:
    """What the running pipeline says of windows: ``score`` float64[N] with its bound at 1, ``active`` bool[N],
    ``subsystem`` of the open episode [N], ``shares`` float64[N, G] and ``evidence`` float32[N, C] by channel; ``fits``
    after the first, and ``rebaselines``."""

    score: Floats
    active: Bools
    subsystem: tuple[str, ...]
    shares: Floats
    evidence: npt.NDArray[np.float32]
    fits: int
    rebaselines: int

    def at(self, rows: npt.NDArray[np.intp]) -> Live:
        """Of these windows."""
        subsystem = tuple(self.subsystem[row] for row in rows)
        arrays = (self.score[rows], self.active[rows], subsystem, self.shares[rows], self.evidence[rows])
        return Live(*arrays, self.fits, self.rebaselines)


def shipped_judge(interval_s: float, times: float = 1.0, strides: int = 1) -> Judge:
    """How a host sampled so often is judged by default, but for windows so many times as long and as far apart.

    A model is fitted anew once its memory can have changed as a whole: each refit costs a second, and a minute's
    samples would have one for every sixty windows.
    """
    judge_by = judge_for(TABLE(), interval_s)
    window_s, stride_s = judge_by.window_s * times, judge_by.stride_s * strides
    return replace(
        judge_by,
        window_s=window_s,
        stride_s=stride_s,
        merge_s=max(judge_by.merge_s, schedule.LEAST_MERGE * stride_s),
        freeze_limit_s=max(judge_by.freeze_limit_s, schedule.LEAST_FREEZE * stride_s),
        smoothing=schedule.smoothing(window_s, interval_s),
        refit_s=max(judge_by.refit_s, MOST_ROWS * stride_s),
    )


def times_asked_for(train: HostState, judge_by: Judge) -> float:
    """How many times as long as the shipped ones the windows are that a host adapts to which was learned from those."""
    assert train.model is not None, "it was learned"
    ends_s, x, _ = train.training.table()
    longest_s = schedule.longest_s(judge_by.window_s, judge_by.stride_s, ADAPTIVE_LIMIT)
    bounded = replace(judge_by, window_bounds_s=(judge_by.window_s, longest_s))
    wanted_s = window_wanted_s(train.model, ends_s, x, bounded)
    return followed(judge_by.window_s, (wanted_s, wanted_s)) / judge_by.window_s


def features_of(
    values: Floats, channels: tuple[Channel, ...], first_s: float, judge_by: Judge, strides: int = 1
) -> Features:
    """Features of the windows that end at every so many rows of ``values`` float64[T, C]."""
    times_s = first_s + np.arange(len(values), dtype=np.float64) * (judge_by.stride_s / strides)
    return extract(Channels(times_s, values, channels), times_s[::strides], judge_by.window_s)


def learned(train: Features, judge_by: Judge) -> HostState:
    """A host whose memory saw all windows of ``train``, fitted at their end."""
    training, names = Training(), train.names
    for end_s, x in zip(train.end_s, train.x.astype(np.float32), strict=True):
        training = training.add(float(end_s), x, names, judge_by.stride_s)
    state = replace(
        HostState.new("replayed"),
        features=train.features,
        training=training,
        baseline_from_s=float(train.end_s[0]),
        last_end_s=float(train.end_s[-1]),
    )
    return fit(state, judge_by)


def scored(model: Model, x: Floats, judge_by: Judge) -> Scored:
    """All windows ``x`` float64[N, F] by one model that learns nothing more."""
    normalised, deviations = [], []
    for start in range(0, len(x), _CHUNK_ROWS):
        judgement = judge(model, x[start : start + _CHUNK_ROWS])
        normalised.append(judgement.normalised)
        deviations.append(judgement.z.astype(np.float32))
    means = judge_by.smoothing.over(np.concatenate(normalised))
    rating = rate(model, means)
    scores = {FUSED: rating.fused} | {part.name: means[:, n] for n, part in enumerate(model.parts.detectors)}
    alarms = {name: judge_by.sudden.statistic(values) > 1.0 for name, values in rating.scores.items()}
    return Scored(scores, alarms, np.concatenate(deviations))


def live(windows: Features, state: HostState, judge_by: Judge, weighed: Bools) -> Live:
    """All windows one by one as on a running host, with all that it learns meanwhile; evidence where ``weighed``."""
    verdicts: list[Verdict] = []
    evidence = []
    # [statistics, C]: the columns of each channel
    owners, names = np.array(list(by_channel(windows.features).values()), dtype=np.intp).T, windows.names
    nothing = np.zeros(owners.shape[1])
    before_fits = state.fits
    for row in range(len(windows.end_s)):
        if row % _CHUNK_ROWS == 0:
            state = _foreseeing(state, windows.x[row : row + _CHUNK_ROWS])
        part = slice(row, row + 1)
        window = _Window(windows.end_s[part], windows.x[part], windows.features, names)
        state, verdict = judge_window(window, state, judge_by)
        verdicts.append(verdict)
        evidence.append(_channel_evidence(state, owners, judge_by) if weighed[row] else nothing)
        if due(state, verdict.end_s, judge_by):
            rest = _CHUNK_ROWS - (row + 1) % _CHUNK_ROWS
            state = _foreseeing(fit(state, judge_by), windows.x[row + 1 : row + 1 + rest])
    return Live(
        np.array([verdict.score for verdict in verdicts]),
        np.array([verdict.active for verdict in verdicts]),
        tuple(verdict.subsystem for verdict in verdicts),
        np.array([[verdict.shares.get(name, 0.0) for name in JUDGED_SUBSYSTEMS] for verdict in verdicts]),
        np.array(evidence, dtype=np.float32),
        state.fits - before_fits,
        state.rebaselines,
    )


def _foreseeing(state: HostState, x: Floats) -> HostState:
    """The state with a model that has scored windows ``x`` [K, F], the next ones, already."""
    model = state.model
    assert model is not None, "a host is replayed after its first fit"
    parts = Parts(model.parts.scaler, model.parts.groups, model.parts.layout, model.parts.detectors)
    z = parts.scaler.deviations(x)
    ahead = _Ahead(z, parts.raw(z))
    foreseeing = _Foreseeing(parts.scaler, parts.groups, parts.layout, parts.detectors, ahead)
    return replace(state, model=replace(model, parts=foreseeing))


def _channel_evidence(state: HostState, owners: npt.NDArray[np.intp], judge_by: Judge) -> Floats:
    """Evidence float64[C] of each channel, as the running detector weighs it; a channel counts by its worst feature."""
    if state.model is None or not state.sizes:
        return np.zeros(owners.shape[1])
    strongest: Floats = evidence_now(state, state.model, judge_by)[owners].max(axis=0)
    return strongest
