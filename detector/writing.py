"""Sends samples to a store by remote write, from a thread of its own with a bounded queue.

What a store refuses once it refuses for ever (https://prometheus.io/docs/specs/prw/remote_write_spec/): a refused
request is halved until what is bad is alone, for Prometheus takes nothing of a request with one bad sample. Where a
store only refuses, halving ends early and what is left of the request counts as refused too. Other failures are tried
again, later and later, until the samples are too old to be worth it.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Sequence

from catalog import outputs
from detector.clock import Clock
from detector.fetch import Fetcher, FetchError, without_password
from detector.telemetry import Telemetry
from detector.wire import HEADERS, Sample, write_request

_MOST_SAMPLES = 2000  # in a request
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 30.0
_TOO_MANY, _TOO_LARGE, _BAD = 429, 413, 400
_AGE_WORDS = (b"out of order", b"out of bounds", b"too old", b"duplicate sample", b"too far in the past")
_TOLD_S = 600.0  # between two words about samples that come late or twice: of two detectors one is always second
_MOST_REFUSALS = 100  # one after the other: bad samples that follow each other are found if they are not too many
_QUOTED = 200

_LOG = logging.getLogger(__name__)

Unit = Sequence[Sample]


class Writer:
    """Takes units of samples, each of one host and one time, in order of time."""

    def __init__(
        self, url: str, fetcher: Fetcher, max_age_s: float, most_samples: int, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._url, self._max_age_s, self._most_samples = url, max_age_s, most_samples
        self._clock, self._telemetry = clock, telemetry
        self._fetcher = fetcher
        self._changed = threading.Condition()  # over an RLock, as putting may let go
        self._waiting: deque[Unit] = deque()
        self._pending = 0
        self._ends_s = float("inf")
        self._trouble = ""
        self._refusals = 0
        self._told_s = -float("inf")
        self._thread = threading.Thread(target=self._run, name="remote-write", daemon=True)
        self._thread.start()

    def put(self, unit: Unit) -> None:
        """Queue a unit; where the queue is full the oldest give way. Never waits."""
        if not unit:
            return
        with self._changed:
            self._waiting.append(unit)
            self._pending += len(unit)
            while self._pending > self._most_samples and len(self._waiting) > 1:
                self._let_go(self._waiting.popleft(), "overflow")
            self._telemetry.set(outputs.WRITE_PENDING, self._pending)
            self._changed.notify()

    def close(self, patience_s: float) -> None:
        """Send what is queued for as long as patience lasts; the rest is lost, and that is logged."""
        with self._changed:
            self._ends_s = time.monotonic() + patience_s
            self._changed.notify()
        self._thread.join(patience_s)
        if self._pending:
            _LOG.warning("%d samples were not written to %s", self._pending, without_password(self._url))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ends_s < float("inf"))
                if not self._waiting or self._ended():
                    self._fetcher.close()
                    return
                units = self._take()
            self._refusals = 0
            self._send(units)

    def _take(self) -> list[Unit]:
        """Units from the head of the queue, as many as a request may hold."""
        units = [self._waiting.popleft()]
        size = len(units[0])
        while self._waiting and size + len(self._waiting[0]) <= _MOST_SAMPLES:
            units.append(self._waiting.popleft())
            size += len(units[-1])
        return units

    def _send(self, units: list[Unit]) -> None:
        """Send until the store has them, refuses them, or they are too old."""
        pause_s = _FIRST_PAUSE_S
        while (units := self._young(units)) and not self._ended():  # what is left then is told by ``close``
            status, wanted_s, said = self._post(units)
            if 200 <= status < 300:
                self._refusals = 0
                self._note("")
                for unit in units:
                    self._let_go(unit, "written")
                return
            if status == _TOO_LARGE or _is_refusal(status, said):
                self._divide(units, said)
                return
            if 400 <= status < 500 and status != _TOO_MANY:
                self._refuse(units, f"status {status}: {self._fetcher.quoted(said, _QUOTED)}")
                return
            self._telemetry.count(outputs.WRITE_FAILURES)
            if status:  # without an answer it was said why there is none
                self._note(f"{without_password(self._url)}: status {status}: {self._fetcher.quoted(said, _QUOTED)}")
            if self._wait(max(wanted_s, pause_s * random.uniform(0.5, 1.0))):
                return
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _post(self, units: Sequence[Unit]) -> tuple[int, float, bytes]:
        """Status (0 without an answer), how long the store asks to wait, and what it says."""
        body = write_request(sample for unit in units for sample in unit)
        begun_s = time.monotonic()
        try:
            status, headers, said = self._fetcher.post(self._url, body, HEADERS)
        except FetchError as error:
            self._note(str(error))
            return 0, 0.0, b""
        finally:
            self._telemetry.observe(outputs.WRITE_DURATION, time.monotonic() - begun_s)
        asked = headers.get("Retry-After", "")
        return status, min(float(asked), _LONGEST_PAUSE_S) if asked.isdecimal() else 0.0, said

    def _divide(self, units: list[Unit], said: bytes) -> None:
        """Find what is bad of a refused request by halves. A time that is too late is so for the whole unit."""
        self._refusals += 1
        unit, is_one = units[0], len(units) == 1
        if is_one and any(words in said for words in _AGE_WORDS):
            self._pass_over(unit, said)
            return
        if (is_one and len(unit) == 1) or self._refusals >= _MOST_REFUSALS:
            self._refuse(units, self._fetcher.quoted(said, _QUOTED))
            return
        if is_one:
            units = [unit[: len(unit) // 2], unit[len(unit) // 2 :]]
        self._send(units[: len(units) // 2])
        self._send(units[len(units) // 2 :])

    def _refuse(self, units: Sequence[Unit], reason: str) -> None:
        for unit in units:
            self._let_go(unit, "refused")
        self._note(f"{without_password(self._url)} refuses samples: {reason}")

    def _pass_over(self, unit: Unit, said: bytes) -> None:
        """Give up samples that are too late, or that the store has already: no trouble, and said now and then."""
        self._let_go(unit, "refused")
        if time.monotonic() >= self._told_s + _TOLD_S:
            self._told_s = time.monotonic()
            _LOG.warning(
                "%s refuses scores that are late or there already, by another detector perhaps: %s",
                *(without_password(self._url), self._fetcher.quoted(said, _QUOTED)),
            )

    def _young(self, units: list[Unit]) -> list[Unit]:
        """The units that are not too old yet."""
        since_ms = (self._clock.wall_s() - self._max_age_s) * 1000
        for unit in units:
            if unit[0].time_ms < since_ms:
                self._let_go(unit, "too_old")
        return [unit for unit in units if unit[0].time_ms >= since_ms]

    def _let_go(self, unit: Unit, outcome: str) -> None:
        with self._changed:
            self._pending -= len(unit)
            self._telemetry.set(outputs.WRITE_PENDING, self._pending)
        self._telemetry.count(outputs.WRITTEN_SAMPLES, outcome, by=len(unit))

    def _wait(self, pause_s: float) -> bool:
        """Wait before the next try; True where there is to be none."""
        with self._changed:
            self._changed.wait_for(self._ended, min(pause_s, max(self._ends_s - time.monotonic(), 0.0)))
            return self._ended()

    def _ended(self) -> bool:
        return time.monotonic() >= self._ends_s

    def _note(self, trouble: str) -> None:
        """Log the beginning of trouble, and its end."""
        if bool(trouble) != bool(self._trouble):
            if trouble:
                _LOG.warning("scores are not written: %s", trouble)
            else:
                _LOG.info("scores are written again")
        self._trouble = trouble


def _is_refusal(status: int, said: bytes) -> bool:
    """Whether samples are at fault. Prometheus says 500 of samples that are older than it still takes."""
    return status == _BAD or (status == 500 and any(words in said for words in _AGE_WORDS))
