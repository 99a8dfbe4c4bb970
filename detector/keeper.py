"""Saves hosts in the background: at intervals, after each fit, and at the end. A failure is logged until it is over."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable

from catalog import outputs
from detector.background import Background
from detector.clock import Clock
from detector.source import Host
from detector.state import HostState
from detector.store import Store
from detector.telemetry import Telemetry
from detector.watch import Watch, config_hash

_LOG = logging.getLogger(__name__)


class Keeper:
    """Owns the saving thread. ``store`` None saves nothing."""

    def __init__(self, store: Store | None, interval_s: float, telemetry: Telemetry, clock: Clock) -> None:
        self.store = store
        self.interval_s = interval_s
        self._telemetry = telemetry
        self._clock = clock
        self._thread = Background("save", 1)
        self._trouble = ""

    def save_if_due(self, watch: Watch) -> None:
        """Save a host whose last save is an interval ago; the first interval begins with its first verdict."""
        now_s = self._clock.elapsed_s()
        if math.isnan(watch.saved_s):
            watch.saved_s = now_s
        if now_s - watch.saved_s >= self.interval_s:
            self.save(watch)

    def save(self, watch: Watch) -> None:
        """Have a host's state written if it was judged in these windows; once more where that is under way."""
        judge = watch.judge
        if self.store is None or judge is None or math.isnan(watch.succeeded_s) or not watch.next_number:
            return
        watch.save_again = watch.saving is not None
        if watch.save_again:
            return
        watch.saved_s = self._clock.elapsed_s()
        end_s = watch.next_end_s - judge.stride_s
        watch.saving = self._thread.submit(
            self._write, self.store, watch.host, config_hash(judge), watch.state, end_s, watch.told_s
        )

    def account(self, watches: Iterable[Watch]) -> None:
        """Count and log the saves that are done, and begin those that had to wait for them."""
        for watch in watches:
            if watch.saving is not None and watch.saving.done():
                self._count(watch.host, watch.saving.exception())
                watch.saving = None
            if watch.save_again and watch.saving is None and watch.reading is None:
                self.save(watch)

    def close(self, watches: Iterable[Watch], patience_s: float) -> None:
        """Save everything once more, for as long as patience lasts."""
        watches = list(watches)
        for watch in watches:
            watch.save_again = False
        self.account(watches)
        for watch in watches:
            watch.saving = None  # a save under way holds an older state; this one comes after it
            self.save(watch)
        if not self._thread.close(patience_s):
            _LOG.warning("not every host was saved within %g s", patience_s)
        self.account(watches)

    def _count(self, host: Host, error: BaseException | None) -> None:
        if error is not None:
            self._telemetry.count(outputs.SAVE_ERRORS)
            if not self._trouble:
                _LOG.error("%s cannot be saved, judging goes on: %s", host.instance, error)
        elif self._trouble:
            _LOG.info("%s is saved again", host.instance)
        self._trouble = "" if error is None else str(error)

    def _write(self, store: Store, host: Host, config: str, state: HostState, end_s: float, told_s: float) -> None:
        begun_s = self._clock.elapsed_s()
        header, arrays = state.to_arrays()
        store.save(host, config, header, arrays, end_s, told_s)
        self._telemetry.observe(outputs.SAVE_DURATION, self._clock.elapsed_s() - begun_s)
