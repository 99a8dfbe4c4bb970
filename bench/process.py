"""CPU time and memory of another process, and requests to it at a steady rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from threading import Event
from typing import Self

import psutil

from tests.servers.process import Server

_LIMIT_S = 10.0
_CPUCLOCK_SCHED = 2  # linux/posix-timers.h: the clock that counts what the scheduler gave to a process


class Watched:
    """A running server: what it has used, and what it answers on one connection that is kept."""

    def __init__(self, server: Server) -> None:
        self._clock = (~server.pid << 3) | _CPUCLOCK_SCHED
        self._process = psutil.Process(server.pid)
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=_LIMIT_S)

    def cpu_s(self) -> float:
        """CPU time of all its threads so far, those that have ended too; nanoseconds count."""
        return time.clock_gettime(self._clock)

    def rss_bytes(self) -> int:
        """Resident memory."""
        return int(self._process.memory_info().rss)

    def get(self, path: str) -> bytes:
        """The body of an answer; AssertionError for any other status than 200."""
        try:
            response = self._asked(path)
        except ConnectionError:  # a server may close a connection on which nothing was asked for long
            self._connection.close()
            response = self._asked(path)
        body = response.read()
        assert response.status == 200, f"{path}: {response.status} {body[:200]!r}"
        return body

    def _asked(self, path: str) -> HTTPResponse:
        self._connection.request("GET", path)
        return self._connection.getresponse()

    def load(self, seconds: float, per_second: float) -> float:
        """Scrape it ``per_second`` times a second for so many seconds; returns the share of one core it used then."""
        started_s, started_cpu_s = time.monotonic(), self.cpu_s()
        at_rate(seconds, per_second, lambda: self.get("/metrics"))
        return (self.cpu_s() - started_cpu_s) / (time.monotonic() - started_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def at_rate(seconds: float, per_second: float, act: Callable[[], object]) -> None:
    """Call ``act`` on a fixed grid, at rate 0 never, and return after ``seconds``."""
    never, started_s = Event(), time.monotonic()
    for call in range(int(seconds * per_second)):
        never.wait(max(0.0, started_s + call / per_second - time.monotonic()))
        act()
    never.wait(max(0.0, started_s + seconds - time.monotonic()))
