from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from math import inf, isnan
from time import thread_time

import pytest

from catalog.family import Profile, Tier
from exporter.collector import Context, Unavailable
from exporter.host import Host
from exporter.slot import Slot
from exporter.tally import State
from tests.exporter.tiny import Script, family, scripted


def _slot(script: Script, *, disabled: bool = False, retry_s: float = 30.0) -> Slot:
    slot = Slot(scripted("tiny", Tier.FAST, script), Context(Host()), disabled=disabled, retry_s=retry_s)
    slot.start()
    return slot


def _raiser(error: Exception, *, times: int = 10**9) -> Callable[[], Sequence[float]]:
    """Raises so many times, then returns values."""
    left = iter(range(times))

    def act() -> Sequence[float]:
        if next(left, None) is not None:
            raise error
        return (1.0, 2.0)

    return act


def test_working_collector_gives_its_values_and_its_cost() -> None:
    def read() -> Sequence[float]:
        started_s = thread_time()
        while thread_time() - started_s < 0.002:
            pass
        return (3.0, 4.0)

    slot = _slot(Script(read=read))
    started_s = thread_time()
    assert [list(slot.sample(time_s).values) for time_s in range(10)] == [[3.0, 4.0]] * 10
    used_s = thread_time() - started_s
    assert (slot.health.state, slot.health.succeeded_at_s, slot.health.reads) == (State.ON, 9.0, 10)
    assert 0.02 <= slot.health.cpu_s <= used_s
    assert slot.health.duration_s >= 0.002


def test_unavailable_collector_is_off_with_its_reason_and_without_error() -> None:
    def build() -> None:
        raise Unavailable("no such hardware")

    slot = _slot(Script(build=build))
    assert (slot.off, slot.health.reason, slot.series) == (True, "no such hardware", ())
    assert list(slot.sample(1.0).values) == []
    assert not slot.health.errors


def test_collector_that_is_disabled_or_not_in_the_profile_is_never_built() -> None:
    script = Script()
    assert _slot(script, disabled=True).health.reason == "switched off by --collector.disable"
    kind = scripted("tiny", Tier.FAST, script, (family("hostpulse_test_full", profile=Profile.FULL),))
    slot = Slot(kind, Context(Host()))
    slot.start()
    assert (slot.off, slot.wanted, slot.health.reason) == (True, False, "belongs to profile full")
    assert script.builds == 0


def test_failure_gives_gaps_counts_each_error_and_logs_only_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    script = Script()
    slot = _slot(script)
    slot.sample(1.0)
    working = script.read

    def read() -> Sequence[float]:
        raise OSError(errno.ENODEV, "No such device", "/sys/x")

    script.read = read
    for _ in range(3):
        assert all(map(isnan, slot.sample(2.0).values))
    assert (slot.health.state, slot.health.errors) == (State.FAILING, {"ENODEV": 3})
    assert "/sys/x" in slot.health.reason
    assert slot.health.succeeded_at_s == 1.0
    script.read = working
    assert list(slot.sample(3.0).values) == [1.0, 2.0]
    assert (slot.health.state, slot.health.reason) == (State.ON, "")
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_errors_are_named_by_errno_or_by_kind() -> None:
    script = Script()
    slot = _slot(script)
    for error in (ValueError("format"), AssertionError(), OSError("no number"), OSError(9999, "unknown")):
        script.read = _raiser(error)
        slot.sample(1.0)
    assert slot.health.errors == {"ValueError": 1, "AssertionError": 1, "OSError": 1, "9999": 1}
    assert slot.health.reason


def test_impossible_values_are_dropped_and_counted() -> None:
    slot = _slot(Script(devices=("a", "b", "c"), read=lambda: [inf, 2.0, -inf]))
    values = slot.sample(1.0).values
    assert isnan(values[0])
    assert values[1] == 2.0
    assert isnan(values[2])
    assert slot.health.errors == {"impossible_value": 2}
    assert slot.health.state is State.ON


def test_wrong_number_of_values_fails_the_collector_not_the_row() -> None:
    slot = _slot(Script(read=lambda: (1.0,)))
    assert len(slot.sample(1.0).values) == len(slot.series) == 2
    assert slot.health.reason == "read 1 values for 2 series"


def test_layout_follows_the_collector_and_an_equal_one_stays_the_same_object() -> None:
    script = Script()
    slot = _slot(script)
    before = slot.series
    script.devices, script.read = ("a", "b", "c"), lambda: (1.0, 2.0, 3.0)
    assert len(slot.sample(1.0).values) == 3
    assert [series.label("device") for series in slot.series] == ["a", "b", "c"]
    script.devices, script.read = ("a", "b"), lambda: (1.0, 2.0)
    slot.sample(2.0)
    assert slot.series == before


def test_collector_that_stays_broken_is_built_anew() -> None:
    script = Script()
    slot = _slot(script, retry_s=0.0)
    layout = slot.series
    script.read = _raiser(OSError(errno.EIO, "I/O error"), times=1)
    slot.sample(1.0)
    assert list(slot.sample(2.0).values) == [1.0, 2.0]
    assert (script.builds, script.closed) == (2, 1)
    assert slot.series is layout
    assert slot.health.state is State.ON


def test_collector_that_cannot_be_built_fails_and_is_tried_again() -> None:
    script = Script(build=_raiser(RuntimeError("broken driver"), times=2))
    slot = _slot(script, retry_s=0.0)
    assert (slot.health.state, slot.series, slot.health.errors) == (State.FAILING, (), {"RuntimeError": 1})
    assert list(slot.sample(2.0).values) == []
    assert list(slot.sample(3.0).values) == [1.0, 2.0]
    assert (slot.health.state, script.builds) == (State.ON, 3)


def test_collector_that_cannot_be_built_is_not_tried_at_every_tick() -> None:
    script = Script(build=_raiser(RuntimeError("broken driver")))
    slot = _slot(script)
    assert [list(slot.sample(1.0).values) for _ in range(50)] == [[]] * 50
    assert script.builds == 1


def test_hardware_that_appears_later_is_found() -> None:
    script = Script(build=_raiser(Unavailable("driver not loaded"), times=2))
    slot = _slot(script, retry_s=0.0)
    slot.sample(1.0)
    assert (slot.off, dict(slot.health.errors)) == (True, {})
    assert list(slot.sample(2.0).values) == [1.0, 2.0]
    assert slot.health.state is State.ON


def test_collector_that_failed_at_first_and_finds_that_there_is_nothing_is_off() -> None:
    errors = iter([OSError("too many open files"), Unavailable("no such hardware")])

    def build() -> None:
        raise next(errors)

    slot = _slot(Script(build=build), retry_s=0.0)
    assert slot.health.state is State.FAILING
    slot.sample(1.0)
    assert (slot.health.state, slot.health.reason) == (State.OFF, "no such hardware")


def _weighed(slot: Slot, duration_s: float) -> bool:
    """Whether it keeps taking too long, after one more read of such a duration."""
    slot.health.reads += 1
    slot.health.duration_s = duration_s
    return slot.over_budget(0.01)


def test_one_long_read_is_forgiven_and_lasting_slowness_is_not() -> None:
    slot = _slot(Script())
    slot.sample(1.0)
    assert not _weighed(slot, 1.0)
    assert not any(slot.over_budget(0.01) for _ in range(100)), "one long read, whoever asks how often"
    assert not any(_weighed(slot, 0.001) for _ in range(100))
    assert [_weighed(slot, 1.0) for _ in range(5)] == [False] * 4 + [True]
    slot.demote(Tier.MEDIUM, 0.01)
    assert (slot.tier, slot.health.errors["over_budget"]) == (Tier.MEDIUM, 1)
    assert slot.health.reason == "moved from fast to medium: reads took more than 10 ms"


def test_collector_that_is_moved_while_it_is_off_still_says_why_it_is_off() -> None:
    slot = _slot(Script(build=_raiser(Unavailable("no such hardware"))))
    assert [_weighed(slot, 1.0) for _ in range(5)] == [False] * 4 + [True]
    slot.demote(Tier.MEDIUM, 0.01)
    assert (slot.off, slot.tier, slot.health.reason) == (True, Tier.MEDIUM, "no such hardware")


def _read_for(slot: Slot, duration_s: float, most: int) -> int:
    """After how many reads of such a duration it may return; so many without that."""
    for read in range(1, most + 1):
        slot.health.reads += 1
        slot.health.duration_s = duration_s
        if slot.fits_again(0.01):
            return read
    return most


def test_collector_that_was_moved_returns_once_it_has_long_been_quick(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    slot = _slot(Script())
    slot.sample(1.0)
    assert _read_for(slot, 0.001, 100) == 100, "it is where it belongs"
    slot.demote(Tier.MEDIUM, 0.01)
    assert _read_for(slot, 0.006, 100) == 100, "not well within what it may take"
    assert _read_for(slot, 0.001, 29) == 29
    assert not any(slot.fits_again(0.01) for _ in range(10)), "nothing was read in between"
    assert _read_for(slot, 0.02, 1) == 1, "takes five quick reads back"
    assert _read_for(slot, 0.001, 100) == 6
    slot.take_back(Tier.FAST, 0.01)
    assert (slot.tier, slot.health.returns) == (Tier.FAST, 1)
    assert slot.health.reason == "moved back from medium to fast: reads took less than 5 ms"
    assert "collector tiny moved back from medium to fast" in caplog.text


def test_collector_that_has_to_go_again_and_again_waits_twice_as_long_each_time() -> None:
    slot = _slot(Script())
    slot.sample(1.0)
    waits = []
    for _ in range(9):
        slot.demote(Tier.MEDIUM, 0.01)
        waits.append(_read_for(slot, 0.001, 5000))
        slot.take_back(Tier.FAST, 0.01)
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 1920, 1920]


def test_collector_that_fails_in_a_slower_tier_does_not_return() -> None:
    script = Script()
    slot = _slot(script)
    slot.sample(1.0)
    slot.demote(Tier.MEDIUM, 0.01)
    working, script.read = script.read, _raiser(OSError("gone"))
    for _ in range(100):
        slot.sample(2.0)
        assert not slot.fits_again(0.01)
    script.read = working
    slot.sample(3.0)
    assert not slot.fits_again(0.01), "what failed was no quick read"


def test_what_a_working_collector_lacks_is_said_beside_its_state() -> None:
    kind = scripted("tiny", Tier.FAST, Script())
    kind.note = "not counted by this hardware: c"
    slot = Slot(kind, Context(Host()))
    slot.start()
    slot.sample(1.0)
    assert (slot.health.state, slot.health.reason) == (State.ON, "not counted by this hardware: c")
