"""One host under observation: how it is judged, how far that has come, and reading what is next."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from catalog.duration import format_duration
from catalog.series import Series
from detector import schedule
from detector.frame import Frame
from detector.fusion import Smoothing
from detector.judge import Judge
from detector.pipeline import disturbed
from detector.settings import Settings
from detector.source import Host, Source, SourceError
from detector.state import HostState
from detector.store import Store
from detector.verdict import Verdict

MOST_WINDOWS = 60  # judged on one read
FEW_WINDOWS = 5  # of which nobody notices that they are judged at once
_SAME_INTERVAL = 0.2  # a scrape interval that moved by less than this part is the same one
_CLOCK_RAN_BACK_S = 60.0
_CONSTANT_S = 3600.0  # what a host is changes at a reboot at most
_START_LIMIT_S = 60.0  # how long after its start a program may still be busy with it

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one read gave: the ends to judge, float seconds, and a frame that covers them."""

    ends_s: Sequence[float]
    frame: Frame | None
    complete_s: float
    left: int
    """Windows that could be judged already but are left for the next read."""
    skipped: int


Step = Callable[[HostState], tuple[HostState, Verdict]]
"""The judging of one window, which can be done again with another state."""


@dataclass(slots=True)
class Fit:
    """A fit in the background, and the windows judged since it began, each with its end."""

    future: Future[tuple[HostState, float]]
    """The state with its new model, and how many seconds the fit took."""
    since: list[tuple[Step, float]] = field(default_factory=list)


@dataclass(slots=True)
class Watch:
    """Mutable. While ``reading`` is set it belongs to the reading thread, else to the loop's."""

    host: Host
    state: HostState
    judge: Judge | None = None
    interval_s: float = math.nan
    next_number: int = 0
    told_s: float = -math.inf
    """Up to which window's end was told: what is judged anew of it, in other windows, say, is no news."""
    in_history: bool = False
    starting: bool = False
    """Whether the program has only just begun to go on with a saved model, and catches up with what it missed."""
    behind: bool = False
    wake_s: float = -math.inf
    misses: int = 0
    reading: Future[Batch] | None = None
    reading_since_s: float = math.nan
    succeeded_s: float = math.nan
    trouble: str = ""
    fit: Fit | None = None
    no_fit_before_s: float = -math.inf
    saved_s: float = math.nan
    saving: Future[None] | None = None
    save_again: bool = False
    """Whether it was to be saved while a save was under way, which holds an older state."""
    constants: Sequence[Series] = ()
    asked_constants_s: float = -math.inf

    @property
    def idle(self) -> bool:
        """Whether the host may be read: it is not being read, and does not wait for its model to catch up with."""
        return self.reading is None and not (self.behind and self.fit is not None)

    def stride_s(self, settings: Settings) -> float:
        """Time between windows; that of the settings while the host's own is unknown."""
        return self.judge.stride_s if self.judge else settings.window.stride_s

    @property
    def next_end_s(self) -> float:
        """End of the window that is next."""
        assert self.judge is not None, "a host that was never read has no next window"
        return self.next_number * self.judge.stride_s


def judge_for(settings: Settings, interval_s: float, window_s: float = math.nan) -> Judge:
    """How a host that is sampled every ``interval_s`` is judged, which came to windows of ``window_s`` before, if any.

    Those count only where windows are adaptive, and within their bounds.
    """
    shortest_s, stride_s = schedule.widened(settings.window.duration_s, settings.window.stride_s, interval_s)
    longest_s = schedule.longest_s(shortest_s, stride_s, settings.window.adaptive_limit)
    bounds_s = (shortest_s, longest_s) if longest_s > shortest_s else None
    window_s = shortest_s if math.isnan(window_s) else min(max(window_s, shortest_s), longest_s)
    return Judge(
        window_s=window_s,
        stride_s=stride_s,
        baseline_s=settings.baseline.duration_s,
        warning_per_day=settings.alarms_per_host_day.warning,
        page_per_day=settings.alarms_per_host_day.page,
        merge_s=max(settings.episode.merge_s, schedule.LEAST_MERGE * stride_s),
        freeze_limit_s=max(settings.episode.freeze_limit_s, schedule.LEAST_FREEZE * stride_s),
        paper=settings.profile.paper == "on",
        window_bounds_s=bounds_s,
        smoothing=schedule.smoothing(window_s, interval_s),
        octave=schedule.octave(interval_s),
    )


def config_hash(judge: Judge) -> str:
    """Names what a learned state depends on; which window the host came to is in the state itself."""
    if judge.window_bounds_s is not None:
        judge = replace(judge, window_s=judge.window_bounds_s[0], smoothing=Smoothing())
        return hashlib.blake2s(repr((judge, judge.window_bounds_s)).encode(), digest_size=8).hexdigest()
    return hashlib.blake2s(repr(judge).encode(), digest_size=8).hexdigest()


def read(watch: Watch, source: Source, store: Store | None, settings: Settings, age_s: float) -> Batch:
    """Read the windows that are next, in a thread of its own, when the program is ``age_s`` old.

    Raises:
        SourceError: the source could not be read.
    """
    complete_s = source.newest_s(watch.host)
    interval_s = source.interval_s(watch.host)
    if math.isnan(complete_s) or math.isnan(interval_s):
        return Batch((), None, complete_s, 0, 0)
    _get_ready(watch, interval_s, store, settings, age_s)
    judge = watch.judge
    assert judge is not None, "a watch that is ready has a judge"
    if not watch.next_number or complete_s < watch.next_end_s - _CLOCK_RAN_BACK_S:
        _start(watch, source.oldest_s(watch.host), complete_s, settings.baseline.history_s)
    pending = schedule.pending(
        watch.next_number,
        source.oldest_s(watch.host),
        complete_s,
        judge.window_s,
        judge.stride_s,
        # However long a history takes, none of it is skipped.
        complete_s if watch.in_history else schedule.horizon_s(judge.baseline_s, judge.window_s),
    )
    if watch.starting:
        watch.state = disturbed(watch.state, age_s, complete_s, judge)
        watch.starting = pending.count > FEW_WINDOWS and age_s < _START_LIMIT_S
    watch.in_history &= pending.count > MOST_WINDOWS
    numbers = range(pending.first, min(pending.last, pending.first + MOST_WINDOWS - 1) + 1)
    ends_s = [number * judge.stride_s for number in numbers]
    frame = source.read(watch.host, ends_s[0] - judge.lookback_s, ends_s[-1]) if ends_s else None
    if ends_s:
        watch.next_number = pending.first
    if watch.state.episode.open and complete_s > watch.asked_constants_s + _CONSTANT_S:
        watch.asked_constants_s = complete_s
        with contextlib.suppress(SourceError):  # an incident without them is better than none
            watch.constants = source.constants(watch.host)
    return Batch(ends_s, frame, complete_s, pending.count - len(ends_s), pending.skipped)


def _get_ready(watch: Watch, interval_s: float, store: Store | None, settings: Settings, age_s: float) -> None:
    """Settle how the host is judged and what is known of it, at first and when its interval changes."""
    if watch.judge is not None and abs(interval_s / watch.interval_s - 1) < _SAME_INTERVAL:
        _follow(watch, watch.judge, settings)
        return
    judge = judge_for(settings, interval_s, watch.state.window_s)
    if judge == watch.judge:
        watch.interval_s = interval_s
        return
    host = watch.host
    if judge.window_s > settings.window.duration_s or judge.stride_s > settings.window.stride_s:
        _LOG.info(
            "%s is sampled every %.3g s: its windows are widened to %g s, a new one every %g s",
            *(host.instance, interval_s, judge.window_s, judge.stride_s),
        )
    watch.state, watch.fit, watch.next_number = HostState.new(host.instance), None, 0
    if store is not None:
        watch.told_s = max(watch.told_s, store.told_s(host))
    saved = store.load(host, config_hash(judge), HostState.from_arrays) if store else None
    if saved is not None:
        _LOG.info("%s goes on with its saved model", host.instance)
        watch.state = replace(saved.state, told_s=saved.told_s)
        watch.next_number = round(saved.end_s / judge.stride_s) + 1
        watch.starting = age_s < _START_LIMIT_S
    # Last: settings may be taken over meanwhile, and who has a judge then is not looked for in the store again.
    watch.judge, watch.interval_s = judge_for(settings, interval_s, watch.state.window_s), interval_s


def _follow(watch: Watch, judge: Judge, settings: Settings) -> None:
    """Go over to windows of the length that the host's fits ask for; what is usual in those is learned anew."""
    window_s = watch.state.next_window_s(judge)
    if window_s == judge.window_s or watch.state.episode.open:
        return
    _LOG.info(
        "%s changes within some %g s: its windows were %g s long and are now %g s, a new one every %g s",
        *(watch.host.instance, watch.state.wanted_s[-1], judge.window_s, window_s, judge.stride_s),
    )
    watch.judge = judge_for(settings, watch.interval_s, window_s)
    watch.state, watch.fit, watch.next_number = watch.state.in_windows_of(window_s), None, 0


def _start(watch: Watch, oldest_s: float, complete_s: float, history_s: float) -> None:
    """Choose the first window; learn anew where the host's clock was set back behind what was judged.

    A cold host learns from the past where that fills a whole baseline. A shorter past is left alone: it is mostly the
    start of the exporter and of this program, which is not how the host usually is.
    """
    judge = watch.judge
    assert judge is not None, "a watch that starts has a judge"
    watch.told_s = min(watch.told_s, complete_s)  # by a clock that was set back what comes is news
    if watch.next_number:
        _LOG.warning(
            "%s: its time went back by %.0f s, it is learned anew", watch.host.instance, watch.next_end_s - complete_s
        )
        watch.state, watch.fit = replace(HostState.new(watch.host.instance), window_s=judge.window_s), None
    begin_s = complete_s - schedule.horizon_s(judge.baseline_s, judge.window_s)
    cold = watch.state.model is None
    too_short = cold and oldest_s > complete_s - judge.baseline_s
    watch.in_history = cold and not too_short and complete_s - history_s < begin_s
    if watch.in_history:
        begin_s = schedule.history_begins_s(complete_s, history_s)
        _LOG.info("%s: up to %s of history are learned from", watch.host.instance, format_duration(history_s))
    watch.next_number = max(
        schedule.first_number(oldest_s, judge.window_s, judge.stride_s),
        schedule.last_number(complete_s if too_short else begin_s, judge.stride_s) + too_short,
    )
