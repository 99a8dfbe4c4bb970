"""A call that hangs is waited for once, and taken up again when it returns."""

from __future__ import annotations

import time
from threading import Event

import pytest

from exporter.patience import Patience
from tests.servers.process import wait_until


def test_answers_and_errors_are_handed_on() -> None:
    patience = Patience[int](5.0)

    def fail() -> int:
        raise FileNotFoundError("gone")

    def err() -> int:
        raise ValueError("neither an answer nor the system's refusal")

    assert patience.call("a", lambda: 7) == 7
    with pytest.raises(FileNotFoundError, match="gone"):
        patience.call("a", fail)
    with pytest.raises(ValueError, match="neither"):
        patience.call("a", err)
    assert patience.call("a", lambda: 8) == 8


def test_hanging_call_is_not_made_again_before_it_returns() -> None:
    patience, released, calls = Patience[int](0.5), Event(), []

    def hang() -> int:
        calls.append(1)
        released.wait(30)
        return 9

    for _ in range(3):
        with pytest.raises(TimeoutError, match="/data: no answer after"):
            patience.call("/data", hang)
    assert len(calls) == 1
    assert patience.call("/other", lambda: 1) == 1, "another key is another call"
    released.set()
    answers: list[int] = []

    def answered() -> bool:
        try:
            answers.append(patience.call("/data", lambda: 10))
        except TimeoutError:
            return False
        return True

    wait_until(answered, 60.0, "the call returns")
    assert answers == [9]


def test_many_that_hang_are_waited_for_no_longer_than_one() -> None:
    patience, released = Patience[bool](0.5), Event()
    hang = {f"/mnt/{number}": lambda: released.wait(30) for number in range(20)}
    began_s = time.monotonic()
    answers = patience.together({**hang, "/quick": lambda: True})
    assert time.monotonic() - began_s < 9.0, "one after the other they take ten seconds"
    assert answers.pop("/quick") is True
    assert [type(answer) for answer in answers.values()] == [TimeoutError] * 20
    released.set()
