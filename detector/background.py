"""Work beside the loop, on daemon threads.

``concurrent.futures.ThreadPoolExecutor`` joins its threads when the interpreter ends: a fit or a read that hangs would
hold the program. These threads can be left behind instead, see ``close``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Background:
    """Runs submitted calls in order on ``workers`` daemon threads."""

    def __init__(self, name: str, workers: int) -> None:
        assert workers > 0, "work needs a worker"
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call; its result or whatever it raised is in the future."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = call(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
                future.set_exception(error)
            else:
                future.set_result(result)

        self._queue.put(work)
        return future

    def close(self, patience_s: float) -> bool:
        """Take no more work and wait for what was queued; False when some of it is left behind.

        A program with threads left behind must end by ``os._exit``: the interpreter's own end stops them in the middle
        of whatever code they are in, and not all of it survives that.
        """
        deadline_s = time.monotonic() + patience_s
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(max(deadline_s - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
