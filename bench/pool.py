"""Processes that measure side by side, each with one thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """So many for as long as the block runs; at its end what is under way is waited for, and what waits is dropped."""
    with ProcessPoolExecutor(jobs, initializer=threadpool_limits, initargs=(1,)) as processes:
        try:
            yield processes
        finally:
            processes.shutdown(cancel_futures=True)
