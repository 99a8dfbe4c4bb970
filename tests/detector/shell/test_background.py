"""Work beside the loop: in order, its errors handed over, and nothing that holds the end of the program."""

from __future__ import annotations

import threading
import time

import pytest

from detector.background import Background
from detector.clock import SystemClock


def test_results_and_errors_are_handed_over() -> None:
    work = Background("t", 1)
    assert work.submit(divmod, 7, 2).result(5) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        work.submit(divmod, 7, 0).result(5)
    assert work.close(5)


def test_one_worker_keeps_the_order() -> None:
    work, seen = Background("t", 1), list[int]()
    for number in range(100):
        work.submit(seen.append, number)
    assert work.close(5)
    assert seen == list(range(100))


def test_several_workers_do_not_wait_for_one_that_hangs() -> None:
    work, let_go = Background("t", 2), threading.Event()
    work.submit(let_go.wait, 30)
    assert work.submit(abs, -1).result(5) == 1
    let_go.set()
    assert work.close(5)


def test_work_that_hangs_is_left_behind() -> None:
    work, let_go = Background("t", 2), threading.Event()
    hanging = work.submit(let_go.wait, 30)
    begun_s = time.monotonic()
    assert not work.close(0.2)
    assert time.monotonic() - begun_s < 15
    let_go.set()
    assert hanging.result(5)


def test_cancelled_work_is_not_done() -> None:
    work, let_go, seen = Background("t", 1), threading.Event(), list[int]()
    work.submit(let_go.wait, 30)
    waiting = work.submit(seen.append, 1)
    assert waiting.cancel()
    let_go.set()
    assert work.close(5)
    assert seen == []


def test_waiting_ends_when_told_to_stop() -> None:
    clock = SystemClock()
    assert not clock.wait(0.001)
    threading.Timer(0.05, clock.stop).start()
    begun_s = clock.elapsed_s()
    assert clock.wait(30)
    assert clock.elapsed_s() - begun_s < 5
    assert clock.wait(30)
