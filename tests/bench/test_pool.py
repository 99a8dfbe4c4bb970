from __future__ import annotations

from concurrent.futures import Future
from threading import Event

import pytest

from bench.pool import pool

_MANY = 40


def _waits(seconds: float) -> bool:
    return Event().wait(seconds)


def _next(number: int) -> int:
    return number + 1


def _interrupted(begun: list[Future[bool]]) -> None:
    with pool(1) as processes:
        begun.extend(processes.submit(_waits, 0.2) for _ in range(_MANY))
        raise KeyboardInterrupt


def test_work_whose_results_are_asked_for_is_done() -> None:
    with pool(2) as processes:
        done = [processes.submit(_next, number) for number in range(_MANY)]
        assert [each.result() for each in done] == list(range(1, _MANY + 1))


def test_work_that_was_not_begun_is_dropped_when_somebody_interrupts() -> None:
    begun: list[Future[bool]] = []
    with pytest.raises(KeyboardInterrupt):
        _interrupted(begun)
    assert sum(each.cancelled() for each in begun) > _MANY / 2
    assert all(each.done() for each in begun)
