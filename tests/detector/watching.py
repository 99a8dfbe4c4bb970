"""Watching a host: the pipeline over a frame, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from detector.features import Features
from detector.frame import Frame
from detector.judge import Judge
from detector.learning import due, fit
from detector.pipeline import features_at, judge_window
from detector.state import HostState
from detector.verdict import Verdict
from tests.detector.synthetic import INSTANCE, START_S

JUDGE = Judge(baseline_s=240.0)


@dataclass(frozen=True)
class Watched:
    """What was said of a host, and what is remembered of it."""

    state: HostState
    verdicts: tuple[Verdict, ...]

    def between(self, start_s: float, end_s: float) -> tuple[Verdict, ...]:
        """The verdicts on windows that end in (start, end] seconds after the start."""
        return tuple(verdict for verdict in self.verdicts if start_s < verdict.end_s - START_S <= end_s)

    @property
    def openings(self) -> list[Verdict]:
        """The verdicts that are active while the one before was not."""
        actives = [False, *(verdict.active for verdict in self.verdicts)]
        return [
            verdict for verdict, before in zip(self.verdicts, actives, strict=False) if verdict.active and not before
        ]

    @property
    def openings_s(self) -> list[float]:
        """When those windows ended, seconds after the start."""
        return [verdict.end_s - START_S for verdict in self.openings]


def windows(frame: Frame, judge_by: Judge, after_s: float = 0.0) -> Iterator[Features]:
    """The features of each window of a frame that ends later than so many seconds after the start."""
    numbers = np.arange(1, round((frame.times_s[-1] - START_S) / judge_by.stride_s) + 1)
    elapsed_s = judge_by.stride_s * numbers
    wanted = (
        (elapsed_s >= judge_by.window_s) & (elapsed_s > after_s) & (START_S + elapsed_s <= frame.times_s[-1] + 1e-6)
    )
    table = features_at(frame, START_S + elapsed_s[wanted], judge_by)
    for row in range(len(table.end_s)):
        yield Features(table.end_s[row : row + 1], table.x[row : row + 1], table.features)


def watch(
    frame: Frame,
    judge_by: Judge = JUDGE,
    state: HostState | None = None,
    after_s: float = 0.0,
    fits: bool = True,
) -> Watched:
    """Judge each window, fitting when due: at once, as if a fit took no time."""
    state, verdicts = state or HostState.new(INSTANCE), []
    for window in windows(frame, judge_by, after_s):
        state, verdict = judge_window(window, state, judge_by)
        verdicts.append(verdict)
        if fits and due(state, verdict.end_s, judge_by):
            state = fit(state, judge_by)
    return Watched(state, tuple(verdicts))


def scores(watched: Watched) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Fused scores of all verdicts."""
    return np.array([verdict.score for verdict in watched.verdicts])
