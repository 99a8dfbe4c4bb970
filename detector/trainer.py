"""Fits models in the background, one at a time, while scoring goes on with the model before."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from catalog import outputs
from detector import learning, pipeline
from detector.background import Background
from detector.clock import Clock
from detector.company import Company
from detector.features import Features
from detector.frame import Frame
from detector.judge import Judge
from detector.state import HostState
from detector.telemetry import Telemetry
from detector.verdict import Verdict
from detector.watch import Fit, Watch

_RETRY_S = 60.0
_FIRST_TAKES_S = 1.0  # supposed of the first fit

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judging:
    """The pure functions that the loop drives."""

    step: Callable[[Frame, HostState, float, Judge], tuple[HostState, Verdict]] = pipeline.step
    due: Callable[[HostState, float, Judge], bool] = learning.due
    fit: Callable[[HostState, Judge], HostState] = learning.fit
    features: Callable[[Frame, float, Judge], Features] = pipeline.window_at
    among: Callable[[Features, HostState, Judge, Company], tuple[HostState, Verdict]] = pipeline.judge_window


class Trainer:
    """Owns the fitting thread."""

    def __init__(self, judging: Judging, telemetry: Telemetry, clock: Clock) -> None:
        self._judging = judging
        self._telemetry = telemetry
        self._clock = clock
        self._thread = Background("fit", 1)
        self._begun: list[Future[tuple[HostState, float]]] = []
        self._took_s = _FIRST_TAKES_S

    def begin_if_due(self, watch: Watch, end_s: float, judge: Judge) -> bool:
        """Begin a fit where that is due, and would not wait for long for others; True where it was begun."""
        if watch.fit is not None or end_s < watch.no_fit_before_s or not self._judging.due(watch.state, end_s, judge):
            return False
        if not watch.behind and self._waits_s() > judge.stride_s:  # who is behind is not judged meanwhile
            return False
        watch.fit = Fit(self._thread.submit(self._timed_fit, watch.state, judge))
        self._begun.append(watch.fit.future)
        return True

    def _waits_s(self) -> float:
        """How long a fit would wait for those that were begun. The windows that are judged meanwhile are kept with
        their samples, to be judged again: with all hosts of a fleet waiting at once that would be gigabytes."""
        self._begun = [one for one in self._begun if not one.done()]
        return len(self._begun) * self._took_s

    def adopt(self, watch: Watch) -> bool:
        """Swap in a model that is ready, brought up to date with the windows judged meanwhile; True where it was."""
        fit, judge = watch.fit, watch.judge
        if fit is None or judge is None or watch.reading is not None or not fit.future.done():
            return False
        watch.fit = None
        self._begun = [one for one in self._begun if one is not fit.future]  # its state is not kept for longer
        error = fit.future.exception()
        if error is not None:
            self._telemetry.count(outputs.FIT_ERRORS)
            _LOG.error("%s: the fit failed, the model before it stays", watch.host.instance, exc_info=error)
            watch.no_fit_before_s = watch.next_end_s + _RETRY_S
            return False
        state, took_s = fit.future.result()
        self._took_s = took_s
        last_s = fit.since[-1][1] if fit.since else state.last_end_s
        if not watch.behind:  # what is judged now was not, when it happened
            state = pipeline.disturbed(state, took_s, last_s, judge)
        for step, _ in fit.since:
            state, _ = step(state)
        # An episode that was told by the model before is counted, also where the new one would not have told of it.
        told = watch.state
        watch.state = replace(state, episodes=max(state.episodes, told.episodes), pages=max(state.pages, told.pages))
        return True

    def close(self, patience_s: float) -> None:
        """Take no more fits; one that is under way gets a moment and is then left behind."""
        self._thread.close(patience_s)

    def _timed_fit(self, state: HostState, judge: Judge) -> tuple[HostState, float]:
        begun_s = self._clock.elapsed_s()
        fitted = self._judging.fit(state, judge)
        took_s = self._clock.elapsed_s() - begun_s
        self._telemetry.observe(outputs.FIT_DURATION, took_s)
        return fitted, took_s
