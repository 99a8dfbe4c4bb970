"""Judges the past of a host window by window, as a running detector would have, and gathers the episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from detector import learning, pipeline, schedule
from detector.buffer import Buffer
from detector.features import Features
from detector.frame import Frame
from detector.judge import DAY_S, Judge
from detector.recording import Recording, Rows
from detector.settings import Settings
from detector.sink import Judged
from detector.source import Host
from detector.state import HostState
from detector.threads import one_thread
from detector.verdict import Cause, Verdict
from detector.watch import MOST_WINDOWS, judge_for

_SPARE_S = 1.0
MOST_CAUSES = 3


class ReplayError(Exception):
    """Nothing can be said of a past; the message says why."""


@dataclass(slots=True)
class Found:
    """One episode. ``peak`` is its highest score, ``causes`` are what led when it opened; ``end_s`` NaN if it did not
    end."""

    start_s: float
    subsystem: str
    causes: tuple[Cause, ...]
    end_s: float = math.nan
    peak: float = 0.0
    page: bool = False


@dataclass(slots=True)
class Findings:
    """What was found in a recording: ``windows``, how many of them were ``judged``, and the episodes by age."""

    name: str
    span_s: tuple[float, float]
    window_s: float
    stride_s: float
    windows: int = 0
    judged: int = 0
    episodes: list[Found] = field(default_factory=list)

    @property
    def alarms_per_day(self) -> float:
        """Episodes for each day that was judged; NaN where nothing was."""
        return len(self.episodes) * DAY_S / (self.judged * self.stride_s) if self.judged else math.nan

    def add(self, verdict: Verdict) -> None:
        """Take in the next verdict."""
        self.windows += 1
        self.judged += not math.isnan(verdict.score)
        last = self.episodes[-1] if self.episodes else None
        if not verdict.active:
            if last is not None and math.isnan(last.end_s):
                last.end_s = verdict.end_s
            return
        if last is None or last.start_s != verdict.onset_s:  # one that is resumed keeps its onset
            last = Found(verdict.onset_s, verdict.subsystem, verdict.causes[:MOST_CAUSES])
            self.episodes.append(last)
        last.end_s, last.subsystem = math.nan, verdict.subsystem  # of one that resumes it may only now be known
        last.page |= verdict.page
        last.peak = max(last.peak, verdict.score if not math.isnan(verdict.score) else 0.0)


@dataclass(frozen=True, slots=True)
class Past:
    """What is there of a host's past. ``frame`` gives the samples in (start, end]; who asks goes forward in time."""

    host: Host
    interval_s: float
    span_s: tuple[float, float]
    frame: Callable[[float, float], Frame]


class Feed:
    """The lanes of a recording in step: what lies up to a time is in memory, and what is no longer asked for is not."""

    def __init__(self, recording: Recording) -> None:
        self._name = recording.name
        self._buffer = Buffer(math.inf)
        self._lanes = dict(recording.lanes)
        self._ahead: dict[str, Rows | None] = {lane: next(rows, None) for lane, rows in self._lanes.items()}

    def frame(self, start_s: float, end_s: float) -> Frame:
        """The samples in (start_s, end_s]; who asks goes forward in time."""
        for lane in self._lanes:
            self._advance(lane, end_s)
        self._buffer.forget(start_s - _SPARE_S)
        return self._buffer.frame(self._name, start_s, end_s)

    def _advance(self, lane: str, until_s: float) -> None:
        """Take from a lane what lies up to a time. What lies after it must not show yet, not even as a column."""
        while (rows := self._ahead[lane]) is not None:
            count = int(rows.times_s.searchsorted(until_s, side="right"))
            if count:
                self._buffer.add(lane, rows.columns, rows.times_s[:count], rows.values[:count])
            if count < len(rows.times_s):
                self._ahead[lane] = Rows(rows.columns, rows.times_s[count:], rows.values[count:])
                return
            self._ahead[lane] = next(self._lanes[lane], None)


def replay(recording: Recording, settings: Settings, progress: Callable[[float], bool]) -> Findings:
    """Judge all windows of a recording, see ``judge_past``. Raises RecordingError where a file is damaged."""
    return judge_past(past_of(recording), settings, progress)


def past_of(recording: Recording) -> Past:
    """The past that was recorded, to be read once."""
    host = Host(recording.name, recording.job)
    return Past(host, recording.interval_s, recording.span_s, Feed(recording).frame)


def judge_past(
    past: Past,
    settings: Settings,
    progress: Callable[[float], bool],
    from_s: float = -math.inf,
    tell: Callable[[Judged], None] = lambda _: None,
) -> Findings:
    """Judge all windows; those that end after ``from_s`` count, and ``tell`` is told of them.

    ``progress`` is told how much is done, 0 to 1, and says whether to stop.

    Raises:
        ReplayError: too little is there to judge any of it, or it was stopped.
    """
    one_thread()
    judge = judge_of_past(settings, past.interval_s)
    _check_length(past, judge)
    span_s = max(past.span_s[0], from_s), past.span_s[1]
    findings = Findings(past.host.instance, span_s, judge.window_s, judge.stride_s)
    first = schedule.first_number(past.span_s[0], judge.window_s, judge.stride_s)
    last = schedule.last_number(past.span_s[1], judge.stride_s)
    verdicts = _walk(past, judge, range(first, last + 1))
    for done in range(last - first + 1):
        if progress(done / (last - first + 1)):
            raise ReplayError(f"stopped after {done} of {last - first + 1} windows")
        verdict, frame = next(verdicts)
        if verdict.end_s > from_s:
            findings.add(verdict)
            tell(Judged(past.host, verdict, frame, judge.window_s, judge.stride_s, 0.0, verdict.end_s))
    if not findings.judged:
        raise ReplayError(f"{past.host.instance}: nothing could be judged: too few of its windows have samples")
    return findings


def judge_of_past(settings: Settings, interval_s: float) -> Judge:
    """How a past is judged that was sampled every ``interval_s``: in windows of one length, so that no fit has to find
    out which its host asks for."""
    return replace(judge_for(settings, interval_s), window_bounds_s=None)


def _check_length(past: Past, judge: Judge) -> None:
    """ReplayError where a past ends before anything can have been learned."""
    span_s = past.span_s[1] - past.span_s[0]
    if span_s <= judge.baseline_s:
        raise ReplayError(
            f"{past.host.instance}: nothing can be judged: it holds {span_s:.0f} s, and {judge.baseline_s:g} s "
            "(--baseline.duration) are needed to learn what is usual"
        )


def _walk(past: Past, judge: Judge, numbers: range) -> Iterator[tuple[Verdict, Frame]]:
    """The verdicts on windows by number, each fit at once: nobody who judges the past disturbs it.

    Frames and features are made for many windows at a time, which is most of the work.
    """
    state = HostState.new(past.host.instance)
    for at in range(numbers.start, numbers.stop, MOST_WINDOWS):
        ends_s = np.arange(at, min(at + MOST_WINDOWS, numbers.stop), dtype=np.float64) * judge.stride_s
        frame = past.frame(float(ends_s[0]) - judge.lookback_s, float(ends_s[-1]))
        table = pipeline.features_at(frame, ends_s, judge)
        for row in range(len(ends_s)):
            window = Features(table.end_s[row : row + 1], table.x[row : row + 1], table.features)
            state, verdict = pipeline.judge_window(window, state, judge)
            if learning.due(state, verdict.end_s, judge):
                state = learning.fit(state, judge)
            yield verdict, frame
