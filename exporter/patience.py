"""Calls that may never return, such as looks at a file server that is away: waited for only so long."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Patience(Generic[Result]):
    """Calls by key, each in a thread of its own. A key whose call hangs is not called again before it returns."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._answers: dict[str, SimpleQueue[Result | OSError]] = {}

    def call(self, key: str, function: Callable[[], Result]) -> Result:
        """What the function returns; its OSError, or TimeoutError when there is no answer yet."""
        hanging = key in self._answers
        answers = self._answers.setdefault(key, SimpleQueue())
        if not hanging:
            Thread(target=self._answer, args=(answers, function), name=key, daemon=True).start()
        try:
            answer = answers.get(timeout=0.0 if hanging else self._timeout_s)
        except Empty:
            raise TimeoutError(f"{key}: no answer after {self._timeout_s:g} s") from None
        del self._answers[key]
        if isinstance(answer, OSError):
            raise answer
        return answer

    @staticmethod
    def _answer(answers: SimpleQueue[Result | OSError], function: Callable[[], Result]) -> None:
        try:
            answers.put(function())
        except OSError as error:
            answers.put(error)
