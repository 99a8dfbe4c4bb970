"""Calls that may never return, such as looks at a file server that is away: waited for only so long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Patience(Generic[Result]):
    """Calls by key, each in a thread of its own. A key whose call hangs is not called again before it returns."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._answers: dict[str, Future[Result]] = {}

    def call(self, key: str, function: Callable[[], Result]) -> Result:
        """What the function returns; what it raises, or TimeoutError when there is no answer yet."""
        answer = self.together({key: function})[key]
        if isinstance(answer, OSError):
            raise answer
        return answer

    def together(self, calls: Mapping[str, Callable[[], Result]]) -> dict[str, Result | OSError]:
        """As ``call`` for all at once, OSErrors as values: many that hang are waited for no longer than one."""
        begun = calls.keys() - self._answers.keys()
        for key in begun:
            self._answers[key] = answer = Future[Result]()
            Thread(target=self._answer, args=(answer, calls[key]), name=key, daemon=True).start()
        until_s = time.monotonic() + self._timeout_s
        return {key: self._wait(key, until_s - time.monotonic() if key in begun else 0.0) for key in calls}

    def _wait(self, key: str, left_s: float) -> Result | OSError:
        answer = self._answers[key]
        wait((answer,), max(0.0, left_s))
        if not answer.done():
            return TimeoutError(f"{key}: no answer after {self._timeout_s:g} s")
        del self._answers[key]
        error = answer.exception()
        return error if isinstance(error, OSError) else answer.result()

    @staticmethod
    def _answer(answer: Future[Result], function: Callable[[], Result]) -> None:
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits; else nobody would ever be answered
            answer.set_exception(error)
        else:
            answer.set_result(result)
