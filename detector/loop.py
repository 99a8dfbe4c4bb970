"""The loop: at each stride reads each host, judges the windows that became complete, and tells the sinks.

Hosts are read side by side, fitted and saved in the background; only the judging itself happens here, on one thread.
One host's failure is its own: it is counted, logged once until it is over, and the others go on.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import TypeVar

from catalog import outputs
from detector import schedule
from detector.clock import Clock
from detector.company import Company
from detector.keeper import Keeper
from detector.maintenance.register import Register
from detector.reading import PATIENCE_STRIDES, Reading
from detector.settings import Settings
from detector.sink import Judged, Sink
from detector.source import Host, Source, SourceError
from detector.state import HostState
from detector.steps import Companies, Piece, key_of, piece_of
from detector.store import Store
from detector.telemetry import Telemetry
from detector.trainer import Judging, Trainer
from detector.watch import FEW_WINDOWS, Batch, Watch

_BUDGET_STRIDES = 0.5  # how long a round may judge windows of hosts that are behind
_SILENCE_S, _SILENCE_STRIDES = 10.0, 5
_ABSENT_S = 3600.0  # how long the model of a host that left is kept in memory
_LAST_SAVES_S, _LAST_READS_S, _LAST_FIT_S = 1.5, 0.4, 0.1

Part = tuple[Watch, Batch]
T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class Loop:
    """Drives ``source``, ``judging``, ``sinks`` and ``store`` by ``clock``."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        sinks: Sequence[Sink],
        store: Store | None,
        telemetry: Telemetry,
        clock: Clock,
        judging: Judging | None = None,
        maintenance: Register | None = None,
    ) -> None:
        self._settings = settings
        self._source = source
        self._sinks = sinks
        self._telemetry = telemetry
        self._clock = clock
        self._judging = judging or Judging()
        self._maintenance = maintenance or Register()
        self._reading = Reading(telemetry, clock)
        self._trainer = Trainer(self._judging, telemetry, clock)
        self._keeper = Keeper(store, settings.state.interval_s, telemetry, clock)
        self._watches: dict[Host, Watch] = {}
        self._absent: dict[Host, tuple[Watch, float]] = {}
        self._companies = Companies()
        self._trouble = ""
        self._sink_troubles: dict[str, str] = {}
        self._asking: Future[Sequence[Host]] | None = None
        self._asked_s = -math.inf
        self.beat_s = clock.elapsed_s()
        for errors, where in [(outputs.READ_ERRORS, source.name), *((outputs.SINK_ERRORS, one.name) for one in sinks)]:
            telemetry.count(errors, where, by=0)  # a counter that begins with its first error never rises

    @property
    def hosts(self) -> Sequence[Host]:
        """Who is judged at the moment."""
        return list(self._watches)

    def unready(self) -> str:
        """Why no host can be judged at the moment; "" when one can."""
        watches = list(self._watches.values())
        if self._trouble or not watches:
            return self._trouble or "the source knows no host"
        if any(not math.isnan(watch.succeeded_s) and not watch.trouble for watch in watches):
            return ""
        return watches[0].trouble or "no window has been judged yet"

    def run(self, each_round: Callable[[], None] = lambda: None) -> None:
        """Go round until the clock says stop. ``each_round`` is called in between."""
        while not self._clock.wait(self.pause_s()):
            self.round()
            each_round()

    def pause_s(self) -> float:
        """Time until something is due."""
        stride_s, now_s = self._settings.window.stride_s, self._clock.elapsed_s()
        idle = [watch for watch in self._watches.values() if watch.idle]
        soonest_s = min((watch.wake_s for watch in idle), default=self._asked_s + stride_s)
        if len(idle) < len(self._watches):
            soonest_s = min(soonest_s, now_s + schedule.RETRY_S)
        return min(max(soonest_s - now_s, 0.0), stride_s)

    def round(self) -> None:
        """Read and judge every host that is due."""
        self.beat_s = self._clock.elapsed_s()
        self._telemetry.set(outputs.HEARTBEAT, self._clock.wall_s())
        for watch in self._watches.values():
            self._adopt(watch)
        self._keeper.account((*self._watches.values(), *(watch for watch, _ in self._absent.values())))
        self._find_hosts()
        for watch in self._watches.values():
            if watch.idle and watch.wake_s <= self.beat_s:
                self._reading.begin(watch, self._source, self._keeper.store, self._settings, self.beat_s)
        for done in self._reading.complete(self._watches.values(), self._settings, self.beat_s):
            read = [(watch, self._batch(watch, future)) for watch, future in done]
            parts = [(watch, batch) for watch, batch in read if batch is not None]
            if parts:
                self._judge(parts)
            if self._stopped():
                return
        for watch in self._watches.values():
            self._check_silence(watch)
        self._telemetry.set(outputs.HOSTS, len(self._watches))
        self._telemetry.set(outputs.HOSTS_FAILING, sum(bool(watch.trouble) for watch in self._watches.values()))

    def reconfigure(self, settings: Settings, source: Source, store: Store | None) -> None:
        """Go on under other settings. Models stay where hosts are judged as before."""
        old_source, self._source, self._settings = self._source, source, settings
        self._keeper.store, self._keeper.interval_s = store, settings.state.interval_s
        for host, watch in list(self._watches.items()):
            # A new object, as the old one may be in the hands of a reading thread.
            self._watches[host] = Watch(
                host,
                watch.state,
                watch.judge,
                next_number=watch.next_number,
                told_s=watch.told_s,
                in_history=watch.in_history,
            )
        self._absent.clear()
        self._asking, self._asked_s = None, -math.inf
        old_source.close()

    def close(self) -> None:
        """Save every host; reads and fits that are under way get a moment and are then left behind."""
        self._keeper.close(self._watches.values(), _LAST_SAVES_S)
        self._reading.close(_LAST_READS_S)
        self._trainer.close(_LAST_FIT_S)
        self._source.close()

    def _find_hosts(self) -> None:
        """Ask the source who is there, when a host is due or a stride has passed; a while is waited for the answer."""
        stride_s = self._settings.window.stride_s
        due = any(watch.idle and watch.wake_s <= self.beat_s for watch in self._watches.values())
        if self._asking is None and (due or self.beat_s >= self._asked_s + stride_s):
            self._asked_s = self.beat_s
            self._asking = self._reading.ask(self._source)
        if self._asking is None or not wait([self._asking], stride_s * PATIENCE_STRIDES).done:
            return
        asking, self._asking = self._asking, None
        try:
            found = asking.result()
        except Exception as error:  # noqa: BLE001 - an answer that nobody understands must not end the program
            reason = str(error) if isinstance(error, SourceError) else f"{type(error).__name__}: {error}"
            self._telemetry.count(outputs.READ_ERRORS, self._source.name)
            if not self._trouble:
                _LOG.warning("no hosts: %s", reason, exc_info=None if isinstance(error, SourceError) else error)
            self._trouble = reason
            for watch in self._watches.values():
                watch.wake_s = self.beat_s + stride_s
                self._begin_trouble(watch, reason, log=False)
            return
        if self._trouble:
            _LOG.info("the source answers again")
            self._trouble = ""
        self._update_hosts(found)

    def _update_hosts(self, found: Iterable[Host]) -> None:
        for host in sorted(set(found) - self._watches.keys()):
            absent = self._absent.pop(host, None)
            self._watches[host] = absent[0] if absent else Watch(host, HostState.new(host.instance))
            _LOG.info("%s is a target", host.instance)
        for host in found:
            self._watches[host].host = host  # it may have changed its group
        self._companies.keep(map(key_of, self._watches.values()))
        for host in sorted(self._watches.keys() - set(found)):
            watch = self._watches.pop(host)
            self._keeper.save(watch)
            self._absent[host] = watch, self.beat_s
            _LOG.info("%s is gone", host.instance)
            for sink in self._sinks:
                self._guard(sink, sink.leave, host)
        for host in [host for host, (_, since_s) in self._absent.items() if self.beat_s > since_s + _ABSENT_S]:
            del self._absent[host]

    def _stopped(self) -> bool:
        """Whether the program is to end: a round of many hosts is not worth finishing then."""
        return self._clock.wait(0.0)

    def _batch(self, watch: Watch, future: Future[Batch]) -> Batch | None:
        """What was read of one host; None where that failed."""
        try:
            return future.result()
        except SourceError as error:
            self._telemetry.count(outputs.READ_ERRORS, self._source.name)
            self._begin_trouble(watch, str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one host, the others go on
            self._fail(watch, error)
        return None

    def _fail(self, watch: Watch, error: Exception) -> None:
        self._telemetry.count(outputs.STEP_ERRORS)
        if not watch.trouble:
            _LOG.error("%s cannot be judged", watch.host.instance, exc_info=error)
        self._begin_trouble(watch, f"{type(error).__name__}: {error}", log=False)
        watch.next_number += 1

    def _judge(self, parts: Sequence[Part]) -> None:
        """Judge windows of one host, or of peers side by side, in order, for as long as the round's budget lasts."""
        going = {watch.host: watch for watch, _ in parts}
        judged, failed = dict.fromkeys(going, 0), set[Host]()
        for _, batch in parts:
            self._telemetry.count(outputs.WINDOWS_SKIPPED, by=batch.skipped)
        # Hosts that are behind share the time, so that a round is short and those that are not behind stay so.
        behind = max(1, sum(other.behind for other in self._watches.values()))
        stride_s = max(watch.stride_s(self._settings) for watch, _ in parts)
        deadline_s = self._clock.elapsed_s() + stride_s * _BUDGET_STRIDES * len(parts) / max(behind, len(parts))
        for count, end_s in enumerate(sorted({end_s for _, batch in parts for end_s in batch.ends_s})):
            if count and (self._clock.elapsed_s() > deadline_s or self._stopped()):
                break
            here = [(watch, batch) for watch, batch in parts if watch.host in going and end_s in batch.ends_s]
            pieces = [self._tried(watch, partial(self._piece, watch, batch, end_s)) for watch, batch in here]
            shown = [piece for piece in pieces if piece is not None]
            company = self._companies.of(shown, end_s, self._watches.values())
            more = {
                piece.watch.host: self._tried(piece.watch, partial(self._judge_window, piece, company))
                for piece in shown
            }
            for watch, _ in here:
                judged[watch.host] += more.get(watch.host) is not None
                if not more.get(watch.host):
                    del going[watch.host]
            failed |= {watch.host for watch, _ in here if more.get(watch.host) is None}
        for watch, batch in parts:
            if watch.host not in failed:
                if judged[watch.host] and watch.trouble:
                    _LOG.info("%s is judged again", watch.host.instance)
                    watch.trouble = ""
                self._plan(watch, batch, judged[watch.host])

    def _tried(self, watch: Watch, call: Callable[[], T]) -> T | None:
        """What ``call`` gives; None where it fails, which is then this host's trouble."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one host, the others go on
            self._fail(watch, error)
            return None

    def _piece(self, watch: Watch, batch: Batch, end_s: float) -> Piece:
        return piece_of(watch, batch, end_s, self._judging, self._maintenance.covers(watch.host, end_s))

    def _judge_window(self, piece: Piece, company: Company) -> bool:
        """Judge one window and tell of it; whether to go on with the next one."""
        watch, batch, end_s, judge, begun_s = (
            piece.watch,
            piece.batch,
            piece.end_s,
            piece.judge_by,
            self._clock.elapsed_s(),
        )
        step, was_open = piece.step(self._judging, company), watch.state.episode.open
        watch.state, verdict = step(watch.state)
        watch.next_number, watch.told_s = watch.next_number + 1, max(watch.told_s, end_s)
        if watch.state.episode.open != was_open:
            self._keeper.save(watch)  # or it would count again after a crash
        self._telemetry.count(outputs.WINDOWS)
        self._telemetry.observe(outputs.STEP_DURATION, self._clock.elapsed_s() - begun_s)
        if watch.fit is not None:
            watch.fit.since.append((step, end_s))
        lag_s = self._source.now_s(watch.host) - end_s
        if len(batch.ends_s) == 1:
            self._telemetry.observe(outputs.END_TO_END, lag_s)
        judged = Judged(
            watch.host,
            verdict,
            piece.frame,
            judge.window_s,
            judge.stride_s,
            lag_s,
            batch.complete_s,
            watch.constants,
        )
        for sink in self._sinks:
            self._guard(sink, sink.publish, judged)
        return not (self._trainer.begin_if_due(watch, end_s, judge) and len(batch.ends_s) > FEW_WINDOWS)

    def _plan(self, watch: Watch, batch: Batch, judged: int) -> None:
        """When the host is due again."""
        now_s = self._clock.elapsed_s()
        left = batch.left + len(batch.ends_s) - judged
        watch.behind = left > FEW_WINDOWS
        if judged:
            watch.misses, watch.succeeded_s = 0, now_s
            self._keeper.save_if_due(watch)
        if left:
            watch.wake_s = now_s
        elif watch.judge is not None:
            readable_s = watch.next_end_s + self._source.grace_s + self._source.late_s
            until_end_s = readable_s - self._source.now_s(watch.host)
            watch.wake_s = now_s + schedule.wait_s(until_end_s, watch.judge.stride_s, watch.misses, bool(judged))
            watch.misses += not judged

    def _adopt(self, watch: Watch) -> None:
        """Take over a model that is ready."""
        try:
            if self._trainer.adopt(watch):
                self._keeper.save(watch)
        except Exception:  # noqa: BLE001 - a model that cannot judge is dropped, the one before it stays
            self._telemetry.count(outputs.FIT_ERRORS)
            _LOG.exception("%s: the new model cannot be used", watch.host.instance)

    def _guard(self, sink: Sink, call: Callable[..., None], *arguments: object) -> None:
        """A sink that fails is counted and does not stop the others. What it fails with is logged once."""
        try:
            call(*arguments)
        except Exception as error:  # noqa: BLE001 - see above
            self._telemetry.count(outputs.SINK_ERRORS, sink.name)
            reason = str(error) or type(error).__name__
            if self._sink_troubles.get(sink.name) != reason:
                self._sink_troubles[sink.name] = reason
                fault = None if isinstance(error, OSError) else error  # a full disk is nobody's mistake in here
                _LOG.error("sink %s failed, judging goes on: %s", sink.name, reason, exc_info=fault)

    def _begin_trouble(self, watch: Watch, reason: str, *, log: bool = True) -> None:
        if not watch.trouble:
            if log:
                _LOG.warning("%s is not judged: %s", watch.host.instance, reason)
            for sink in self._sinks:
                self._guard(sink, sink.trouble, watch.host, reason)
        watch.trouble = reason

    def _check_silence(self, watch: Watch) -> None:
        """A host without a new window for long is in trouble, though no read failed."""
        since_s = watch.succeeded_s if watch.reading is None else watch.reading_since_s
        limit_s = max(_SILENCE_S, _SILENCE_STRIDES * watch.stride_s(self._settings))
        if self.beat_s - since_s > limit_s and not watch.behind:
            what = "no new samples" if watch.reading is None else "no answer from the source"
            self._begin_trouble(watch, f"{what} for {limit_s:g} s")
