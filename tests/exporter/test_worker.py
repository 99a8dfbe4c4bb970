from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from catalog.family import Tier
from exporter.collector import Context
from exporter.host import Host
from exporter.slot import Reading, Slot
from exporter.tally import State
from exporter.worker import Worker
from tests.exporter.tiny import Script, scripted
from tests.servers.process import wait_until

_LIMIT_S = 60.0


def _slots(**scripts: Script) -> list[Slot]:
    context = Context(Host())
    slots = [Slot(scripted(name, Tier.SLOW, script), context) for name, script in scripts.items()]
    for slot in slots:
        slot.start()
    return slots


def _finish(worker: Worker) -> dict[str, Reading]:
    finished: list[dict[str, Reading]] = []

    def done() -> bool:
        values = worker.finished()
        if values is not None:
            finished.append(values)
        return bool(finished)

    wait_until(done, _LIMIT_S, "the batch has ended")
    return finished[0]


def test_batch_reads_all_and_not_in_the_callers_thread() -> None:
    threads: list[threading.Thread] = []

    def read() -> Sequence[float]:
        threads.append(threading.current_thread())
        return (1.0, 2.0)

    worker = Worker(5.0, time.monotonic)
    worker.start(_slots(one=Script(read=read), two=Script(read=read)), 7.0)
    assert {name: reading.values for name, reading in _finish(worker).items()} == {"one": (1.0, 2.0), "two": (1.0, 2.0)}
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    assert not worker.busy


class Hanging:
    """A read that hangs until it is released, and a clock that stands still but for ten seconds each time it hangs."""

    def __init__(self) -> None:
        self.release, self._hung = threading.Event(), 0

    def read(self) -> Sequence[float]:
        if not self.release.is_set():
            self._hung += 1
        assert self.release.wait(_LIMIT_S)
        return (1.0, 2.0)

    def now_s(self) -> float:
        return 10.0 * self._hung


def test_hanging_read_is_stepped_over_and_left_out_until_it_returns() -> None:
    hanging = Hanging()
    slots = _slots(bad=Script(read=hanging.read), good=Script())
    bad, worker = slots[0], Worker(5.0, hanging.now_s)
    worker.start(slots, 1.0)
    assert set(_finish(worker)) == {"good"}
    assert (bad.health.state, bad.health.errors) == (State.HUNG, {"deadline": 1})
    worker.start(slots, 2.0)
    assert set(_finish(worker)) == {"good"}
    assert bad.health.errors == {"deadline": 1}, "a read that hangs is not begun again"
    hanging.release.set()
    wait_until(lambda: bad.health.state is State.ON, _LIMIT_S, "the collector is back")
    worker.start(slots, 3.0)
    assert set(_finish(worker)) == {"bad", "good"}


def test_read_that_hangs_and_then_fails_counts_as_failing() -> None:
    hanging = Hanging()

    def fail() -> Sequence[float]:
        hanging.read()
        raise ValueError("late and wrong")

    slots = _slots(bad=Script(read=fail))
    worker = Worker(5.0, hanging.now_s)
    worker.start(slots, 1.0)
    assert _finish(worker) == {}
    hanging.release.set()
    wait_until(lambda: slots[0].health.state is State.FAILING, _LIMIT_S, "the failure is noted")
    assert slots[0].health.errors == {"deadline": 1, "ValueError": 1}


def test_many_hanging_reads_cost_one_thread_each_and_no_more() -> None:
    hanging = Hanging()
    slots = _slots(one=Script(read=hanging.read), two=Script(read=hanging.read), three=Script())
    worker = Worker(5.0, hanging.now_s)
    before = threading.active_count()
    for _ in range(5):
        worker.start(slots, 1.0)
        assert set(_finish(worker)) == {"three"}
    assert threading.active_count() - before <= 3
    hanging.release.set()
    wait_until(lambda: threading.active_count() <= before, _LIMIT_S, "the threads have ended")
