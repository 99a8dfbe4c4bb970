"""Instant queries of Prometheus and what speaks its API; https://prometheus.io/docs/prometheus/latest/querying/api/."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import orjson

from catalog.series import Series
from detector.breaker import Breaker
from detector.clock import Clock
from detector.fetch import Fetcher, FetchError, without_password
from detector.source import SourceError

_PATH = "/api/v1/query"
_TOO_OFTEN = 429
_SMALLER = (413, 422, _TOO_OFTEN)
"""What a database says to a query that it may do if it is smaller."""
_PASSING = (_TOO_OFTEN, 502, 503, 504)
"""What may be over a moment later."""
_HINTS = dict.fromkeys((401, 403), ", not let in by source.prometheus.access")
_LEAST_SPAN_S = 2.0
_MOST_SPLITS = 6
_ATTEMPTS, _PAUSE_S = 3, 0.05
_NEWEST = {"nocache": "1"}
"""Else VictoriaMetrics keeps back the newest half a minute; others do not know it.

https://docs.victoriametrics.com/victoriametrics/keyconcepts/#query-latency
"""
_SHORT_QUOTE = 100
_LONGEST_QUERY = 200  # of one that asks for a hundred families the rest says no more

Entry = dict[str, Any]


class _TooMuchError(SourceError):
    """The database would have to read more than it may; ``splits`` is how often it is worth to ask for halves."""

    def __init__(self, message: str, splits: int) -> None:
        super().__init__(message)
        self.splits = splits


class QueryApi:
    """The query API below ``url``; for several threads."""

    def __init__(self, url: str, fetcher: Fetcher, timeout_s: float, clock: Clock) -> None:
        self._url = url + _PATH
        self._fetcher = fetcher
        self._timeout_s = timeout_s
        self._clock = clock
        self._breaker = Breaker()
        self.ahead_s = math.nan
        """How much the database's clock is ahead of our elapsed time; NaN before it told."""

    @property
    def address(self) -> str:
        """Where it is, for people: without passwords."""
        return without_password(self._url.removesuffix(_PATH))

    def instant(self, query: str, **parameters: str) -> list[Entry]:
        """The ``result`` of a query; keeps the database's clock when no time was given.

        Raises:
            SourceError: names the address and the query, or its beginning.
        """
        asked = f"{without_password(self._url)}: {_shown(query)}"
        begun_s, status, body = self._ask(query, parameters)
        result = self._result(asked, status, body)
        if result and "value" in result[0] and not parameters:
            self.ahead_s = float(result[0]["value"][0]) - (begun_s + self._clock.elapsed_s()) / 2
        return result

    def samples(self, selector: str, start_s: float, end_s: float, splits: int = _MOST_SPLITS) -> list[Entry]:
        """The raw samples in (start, end] of all series of a selector; what is too much at once is asked for in halves.

        An answer may hold a little from before ``start_s``, and of a series several entries, the oldest first.

        Raises:
            SourceError: names the address and the query, or its beginning.
        """
        span_s = math.ceil(end_s - start_s)
        try:
            return self.instant(f"{selector}[{span_s}s]", time=f"{end_s:.3f}")
        except _TooMuchError as error:
            left = min(splits, error.splits)
            if span_s <= _LEAST_SPAN_S or not left:
                raise
        middle_s = (start_s + end_s) / 2
        halves = (self.samples(selector, *half, left - 1) for half in ((start_s, middle_s), (middle_s, end_s)))
        return [entry for half in halves for entry in half]

    def _ask(self, query: str, parameters: Mapping[str, str]) -> tuple[float, int, bytes]:
        """When the answer was asked for, its status and body; a question that failed at once is asked again.

        Raises:
            SourceError: no answer, or too many failures before.
        """
        first_s = self._clock.elapsed_s()
        pause_s = self._breaker.wait_s(first_s)
        if pause_s:
            raise SourceError(f"{self.address} is left alone for {pause_s:.1f} s, as it failed: {self._breaker.reason}")
        for attempt in count(1):
            begun_s, status, body, failure = self._clock.elapsed_s(), 0, b"", ""
            try:
                status, body = self._fetcher.get(self._url, {"query": query, **_NEWEST, **parameters})
            except FetchError as error:
                failure = str(error)
            if not failure and status not in _PASSING:
                self._breaker.succeeded()
                return begun_s, status, body
            pause_s = _PAUSE_S * 2.0**attempt * random.uniform(0.5, 1.5)
            is_late = self._clock.elapsed_s() + pause_s > first_s + self._timeout_s / 2
            if attempt == _ATTEMPTS or is_late or self._clock.wait(pause_s):
                break
        if status != _TOO_OFTEN:
            self._breaker.failed(failure or f"status {status}", self._clock.elapsed_s(), random.random())
        if failure:
            raise SourceError(f"{failure} (asked {_shown(query)})")
        return begun_s, status, body

    def _result(self, asked: str, status: int, body: bytes) -> list[Entry]:
        try:
            answer = orjson.loads(body)
            if status == 200 and answer["status"] == "success":
                partial = [*answer.get("warnings", ()), *(["isPartial"] if answer.get("isPartial") else [])]
                result: list[Entry] = answer["data"]["result"]
                if partial:
                    raise SourceError(f"{asked}: incomplete: {self._fetcher.quoted('; '.join(partial))}")
                if all(map(_is_entry, result)):
                    return result
            said = self._fetcher.quoted(str(answer["error"]) if answer.get("error") else body)
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            said = f"not an answer of the query API: {self._fetcher.quoted(body, _SHORT_QUOTE)!r}"
        said = f"{asked}: status {status}{_HINTS.get(status, '')}: {said}"
        if status in _SMALLER:
            raise _TooMuchError(said, 1 if status == _TOO_OFTEN else _MOST_SPLITS)
        raise SourceError(said)

    def close(self) -> None:
        """Give back connections."""
        self._fetcher.close()


def _shown(query: str) -> str:
    return query if len(query) <= _LONGEST_QUERY else f"{query[:_LONGEST_QUERY]}…"


def _is_entry(entry: Entry) -> bool:
    """Whether it is a series with a sample or several; raises TypeError or AttributeError where it is no object."""
    sample, samples = entry.get("value", (0, 0)), entry.get("values", ())
    is_whole = len(sample) == 2 and isinstance(samples, list | tuple)
    return is_whole and ("value" in entry or "values" in entry) and isinstance(entry.get("metric"), dict)


def one_of(values: Iterable[str], prefix: str = "") -> str:
    """A regular expression that matches these texts, each of which begins with ``prefix``.

    >>> one_of(["node_a", "node_b.c"], "node_")
    'node_(?:a|b\\\\.c)'
    """
    rests = "|".join(_literal(value.removeprefix(prefix)) for value in values)
    return f"{_literal(prefix)}(?:{rests})" if prefix else rests


def _literal(text: str) -> str:
    """Text of which a regular expression matches just itself, in RE2's syntax; a dash needs no backslash there."""
    return "".join(f"\\{char}" if char in r"\.+*?()|[]{}^$" else char for char in text)


def equal(**labels: str) -> list[str]:
    """Matchers of the labels that are not empty: ``job="a"``."""
    return [str(Series("", ((name, value),)))[1:-1] for name, value in labels.items() if value]


def matching(label: str, pattern: str) -> str:
    """A matcher by a regular expression: ``job=~"a|b"``."""
    return str(Series("", ((label, pattern),)))[1:-1].replace("=", "=~", 1)
