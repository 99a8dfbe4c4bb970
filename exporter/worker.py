"""Reads that may block, off the sampling thread: one after the other, stepping over one that hangs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock, Thread

from exporter.slot import Reading, Slot
from exporter.tally import State


class Worker:
    """Runs one batch of reads at a time. A read past its deadline keeps its thread; the next thread goes on without it.

    There are never more threads than collectors, as a collector that hangs is left out until it returns.
    """

    def __init__(self, deadline_s: float, monotonic: Callable[[], float]) -> None:
        self._deadline_s = deadline_s
        self._monotonic = monotonic
        self._lock = Lock()
        self._queue: deque[Slot] = deque()
        self._wall_s = 0.0
        self._owner: object | None = None
        self._current: Slot | None = None
        self._started_s = 0.0
        self._readings: dict[str, Reading] = {}

    @property
    def busy(self) -> bool:
        """Whether a batch is under way."""
        return self._owner is not None

    def start(self, slots: Iterable[Slot], wall_s: float) -> None:
        """Begin a batch of reads."""
        assert not self.busy, "one batch at a time"
        self._queue = deque(slot for slot in slots if slot.health.state is not State.HUNG)
        self._readings = {}
        self._wall_s = wall_s
        self._take_over()

    def finished(self) -> dict[str, Reading] | None:
        """What was read, by collector, once the batch has ended; None while it goes on."""
        with self._lock:
            if self._current is not None and self._monotonic() - self._started_s > self._deadline_s:
                self._current.hang(self._deadline_s)
                self._current = None
                self._take_over()
            return None if self.busy else self._readings

    def _take_over(self) -> None:
        self._owner = owner = object()
        Thread(target=self._work, args=(owner,), name="slow", daemon=True).start()

    def _work(self, owner: object) -> None:
        while slot := self._next(owner):
            reading = slot.sample(self._wall_s)
            with self._lock:
                if self._owner is not owner:
                    slot.unhang()
                    return
                self._readings[slot.name] = reading
                self._current = None

    def _next(self, owner: object) -> Slot | None:
        with self._lock:
            if self._owner is not owner:
                return None
            if not self._queue:
                self._owner = None
                return None
            self._current, self._started_s = self._queue.popleft(), self._monotonic()
            return self._current
