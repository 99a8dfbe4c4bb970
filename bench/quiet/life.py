"""The life of one simulated host under the shipped pipeline: what it alarms on, and what it finds of what is put in.

Faults are put into copies: from a moment of the host's life on, the same host lives a few minutes with a fault, and the
life that counts goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from bench.quiet.fault import PLANTED, Planted
from bench.quiet.host import DAY_S, HOUR_S, START_S, Profile, Recorder, Signals, SimulatedHost
from bench.quiet.series import lines
from detector import schedule
from detector.features import Features
from detector.frame import Floats, Frame
from detector.learning import due, fit
from detector.pipeline import disturbed, features_at, judge_window
from detector.settings import TABLE
from detector.state import HostState
from detector.verdict import Phase, Verdict
from detector.watch import judge_for

FIT_S = 1.0  # what a fit is taken to last: windows that show it are not judged
FAULT_STRIDES, LEAST_FAULT_S = 40, 120.0
_BLOCK_ROWS = 6000
_CAUSES_NAMED = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """One host to live through: what it is for, its seed, days, how often it is sampled, and how many times as long as
    the shipped ones its windows are."""

    profile: Profile
    seed: int
    days: float
    interval_s: float
    times: float = 1.0


@dataclass(slots=True)
class Alarm:
    """An episode of the host without a fault, with what opened it; hours since the host's start."""

    opened_h: float
    phase: str
    subsystem: str
    causes: str
    page: bool = False
    lasted_s: float = 0.0
    most: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a fault; ``delay_s`` is NaN where no alarm came."""

    kind: str
    subsystem: str
    delay_s: float
    blamed: str


@dataclass(slots=True)
class Life:
    """What was seen of a host of some profile: ``days`` judged by phase, alarms and faults."""

    host: str
    profile: str
    days: dict[str, float] = field(default_factory=lambda: dict.fromkeys(map(str, Phase), 0.0))
    alarms: list[Alarm] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    fits: int = 0
    rebaselines: int = 0


def live(plan: Plan) -> Life:
    """Live through a plan."""
    return _Living(plan).life()


@dataclass(frozen=True, slots=True)
class _Block:
    """Samples without a fault, what the counters were at before them, and the frame of the samples before."""

    signals: Signals
    totals: Floats
    before: Frame | None


class _Living:
    def __init__(self, plan: Plan) -> None:
        self._name = f"{plan.profile.name}-{plan.seed}"
        self._lines, self._rows = lines(), round(plan.days * DAY_S / plan.interval_s)
        shipped = judge_for(TABLE(), plan.interval_s)
        window_s = plan.times * shipped.window_s
        self._judge_by = replace(shipped, window_s=window_s, smoothing=schedule.smoothing(window_s, plan.interval_s))
        self._host = SimulatedHost(self._lines, plan.profile, plan.seed, plan.interval_s, plan.days)
        self._recorder = Recorder(self._name, self._lines, plan.interval_s)
        self._state = HostState.new(self._name)
        self._chance = np.random.default_rng([plan.seed, 1])
        self._faults = self._planted()
        self._next_fault_s = 0.0
        self._life = Life(self._name, plan.profile.name)

    def life(self) -> Life:
        before = None
        for start in range(0, self._rows, _BLOCK_ROWS):
            totals = self._recorder.totals
            signals = self._host.next(min(_BLOCK_ROWS, self._rows - start))
            frame = _joined(before, self._recorder.frame(signals))
            self._through(frame, _Block(signals, totals, before))
            before = _since(frame, float(frame.times_s[-1]) - self._judge_by.lookback_s)
        self._life.fits, self._life.rebaselines = self._state.fits, self._state.rebaselines
        return self._life

    def _through(self, frame: Frame, block: _Block) -> None:
        for window in self._windows(frame, START_S + block.signals.elapsed_s):
            self._state, verdict = self._judged(self._state, window)
            self._note(verdict)
            self._put_in_a_fault(block, verdict)

    def _windows(self, frame: Frame, times_s: Floats) -> Iterator[Features]:
        """The windows that end at these times, one by one."""
        number = np.round(times_s / self._host.interval_s).astype(np.int64)
        ends_s = times_s[number % round(self._judge_by.stride_s / self._host.interval_s) == 0]
        windows = features_at(frame, ends_s, self._judge_by)
        for row in range(len(ends_s)):
            part = slice(row, row + 1)
            yield Features(ends_s[part], windows.x[part], windows.features)

    def _judged(self, state: HostState, window: Features) -> tuple[HostState, Verdict]:
        """As the loop of a running detector does it, which fits beside it and takes the model over at once."""
        state, verdict = judge_window(window, state, self._judge_by)
        if due(state, verdict.end_s, self._judge_by):
            state = disturbed(fit(state, self._judge_by), FIT_S, verdict.end_s, self._judge_by)
        return state, verdict

    def _note(self, verdict: Verdict) -> None:
        life, stride_s = self._life, self._judge_by.stride_s
        life.days[str(verdict.phase)] += stride_s / DAY_S
        if not verdict.active:
            return
        opened_h = (verdict.onset_s - START_S) / HOUR_S
        if not life.alarms or life.alarms[-1].opened_h != opened_h:
            causes = ", ".join(f"{cause.channel}:{cause.statistic}" for cause in verdict.causes[:_CAUSES_NAMED])
            life.alarms.append(Alarm(opened_h, str(verdict.phase), verdict.subsystem, causes))
        alarm = life.alarms[-1]
        alarm.page, alarm.lasted_s = alarm.page or verdict.page, alarm.lasted_s + stride_s
        alarm.most = float(np.fmax(alarm.most, verdict.score))

    def _planted(self) -> Iterator[Planted]:
        """Each once a day, in an order that changes."""
        while True:
            yield from (PLANTED[number] for number in self._chance.permutation(len(PLANTED)))

    def _put_in_a_fault(self, block: _Block, verdict: Verdict) -> None:
        """Where one is due, and the host is calm and calibrated."""
        elapsed_s = verdict.end_s - START_S
        if elapsed_s < self._next_fault_s or verdict.phase is not Phase.CALIBRATED or verdict.active:
            return
        span_s = max(LEAST_FAULT_S, FAULT_STRIDES * self._judge_by.stride_s)
        first, last = np.searchsorted(block.signals.elapsed_s, (elapsed_s, elapsed_s + span_s), side="right")
        if last < len(block.signals.elapsed_s):
            self._life.found.append(self._found(next(self._faults), block, int(first), int(last)))
            self._next_fault_s = elapsed_s + DAY_S / len(PLANTED)

    def _found(self, planted: Planted, block: _Block, first: int, last: int) -> Found:
        """What the alarm rule says of a fault in the rows from ``first`` to ``last``."""
        signals = block.signals.rows(slice(0, last))
        added = np.zeros_like(signals.values)
        added[first:] = planted.added(self._lines, signals.rows(slice(first, last)), self._chance)
        recorder = Recorder(self._name, self._lines, self._host.interval_s)
        recorder.totals = block.totals
        frame = _joined(block.before, recorder.frame(signals, added))
        times_s = START_S + signals.elapsed_s[first:]
        frame = _since(frame, float(times_s[0]) - self._judge_by.lookback_s)
        state = self._state
        for window in self._windows(frame, times_s):
            state, verdict = self._judged(state, window)
            if verdict.active:
                delay_s = verdict.end_s - float(times_s[0]) + self._host.interval_s
                return Found(planted.kind, planted.subsystem, delay_s, verdict.subsystem)
        return Found(planted.kind, planted.subsystem, np.nan, "")


def _joined(before: Frame | None, frame: Frame) -> Frame:
    if before is None:
        return frame
    times_s = np.concatenate([before.times_s, frame.times_s])
    return Frame(frame.instance, times_s, np.concatenate([before.values, frame.values]), frame.columns)


def _since(frame: Frame, start_s: float) -> Frame:
    """The rows from some time on."""
    first = int(np.searchsorted(frame.times_s, start_s))
    return Frame(frame.instance, frame.times_s[first:], frame.values[first:], frame.columns)
