"""Reads hosts side by side, on threads of their own, and gives what was read as it gets done."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from catalog import outputs
from detector.background import Background
from detector.clock import Clock
from detector.settings import Settings
from detector.source import Host, Source
from detector.steps import Key, key_of
from detector.store import Store
from detector.telemetry import Telemetry
from detector.watch import Batch, Watch, read

PATIENCE_STRIDES = 0.5  # how long a round waits for a host that is slow to read
_READERS = 8

Read = tuple[Watch, Future[Batch]]


class Reading:
    """Owns the reading threads."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._threads = Background("read", _READERS)

    def ask(self, source: Source) -> Future[Sequence[Host]]:
        """Ask who is there."""
        return self._threads.submit(source.hosts)

    def begin(self, watch: Watch, source: Source, store: Store | None, settings: Settings, round_s: float) -> None:
        """Begin to read a host, in the round that began at ``round_s``."""
        watch.reading_since_s = round_s
        watch.reading = self._threads.submit(self._read, watch, source, store, settings)

    def complete(self, watches: Collection[Watch], settings: Settings, round_s: float) -> Iterable[list[Read]]:
        """What was read of one host, or of a whole group of peers: hosts of a group wait for those that are as late."""
        held: dict[Key, list[Read]] = {}
        for watch, future in self._done(watches, settings):
            key = key_of(watch)
            if key is None:
                yield [(watch, future)]
                continue
            held.setdefault(key, []).append((watch, future))
            if not any(_awaits(other, key, round_s) for other in watches):
                yield held.pop(key)
        yield from held.values()

    def close(self, patience_s: float) -> None:
        """Read no more; what is under way gets a moment and is then left behind."""
        self._threads.close(patience_s)

    def _done(self, watches: Collection[Watch], settings: Settings) -> Iterable[Read]:
        """Reads that are done, as they get done, for a while and until another host is due."""
        deadline_s = self._clock.elapsed_s() + settings.window.stride_s * PATIENCE_STRIDES
        while reading := {watch.reading: watch for watch in watches if watch.reading is not None}:
            next_s = min((watch.wake_s for watch in watches if watch.idle), default=math.inf)
            patience_s = min(deadline_s, next_s) - self._clock.elapsed_s()
            done, _ = wait(reading, max(patience_s, 0.0), FIRST_COMPLETED)
            if not done:
                return
            for future in done:
                watch = reading[future]
                watch.reading, watch.wake_s = None, self._clock.elapsed_s() + watch.stride_s(settings)
                yield watch, future

    def _read(self, watch: Watch, source: Source, store: Store | None, settings: Settings) -> Batch:
        """Read one host, on a reading thread."""
        begun_s = self._clock.elapsed_s()
        try:
            return read(watch, source, store, settings, self._clock.age_s())
        finally:
            self._telemetry.observe(outputs.READ_DURATION, self._clock.elapsed_s() - begun_s, source.name)


def _awaits(other: Watch, key: Key, round_s: float) -> bool:
    """Whether a host of the group is being read; who did not answer in the last round is not waited for."""
    return other.reading is not None and other.reading_since_s == round_s and key_of(other) == key
