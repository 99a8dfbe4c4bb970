"""Instant queries of Prometheus and what speaks its API; https://prometheus.io/docs/prometheus/latest/querying/api/."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import orjson

from catalog.series import Series
from detector.clock import Clock
from detector.fetch import Fetcher, FetchError, without_password
from detector.source import SourceError

_PATH = "/api/v1/query"
_TOO_MUCH = (413, 422)
"""What a database says to a query that it would do if it were smaller."""
_LEAST_SPAN_S = 2.0

Entry = dict[str, Any]


class _TooMuchError(SourceError):
    """The database would have to read more than it may."""


class QueryApi:
    """The query API below ``url``; for several threads."""

    def __init__(self, url: str, fetcher: Fetcher, clock: Clock) -> None:
        self._url = url + _PATH
        self._fetcher = fetcher
        self._clock = clock
        self.ahead_s = math.nan
        """How much the database's clock is ahead of our elapsed time; NaN before it told."""

    @property
    def address(self) -> str:
        """Where it is, for people: without passwords."""
        return without_password(self._url.removesuffix(_PATH))

    def instant(self, query: str, **parameters: str) -> list[Entry]:
        """The ``result`` of a query; keeps the database's clock when no time was given.

        Raises:
            SourceError: names the address and the query.
        """
        asked = f"{without_password(self._url)}: {query}"
        begun_s = self._clock.elapsed_s()
        try:
            status, body = self._fetcher.get(self._url, {"query": query, **parameters})
        except FetchError as error:
            raise SourceError(f"{error} (asked {query})") from error
        result = _result(asked, status, body)
        if result and "value" in result[0] and not parameters:
            self.ahead_s = float(result[0]["value"][0]) - (begun_s + self._clock.elapsed_s()) / 2
        return result

    def samples(self, selector: str, start_s: float, end_s: float) -> list[Entry]:
        """The raw samples in (start, end] of all series of a selector; what is too much at once is asked for in halves.

        An answer may hold a little from before ``start_s``, and of a series several entries, the oldest first.

        Raises:
            SourceError: names the address and the query.
        """
        span_s = math.ceil(end_s - start_s)
        try:
            return self.instant(f"{selector}[{span_s}s]", time=f"{end_s:.3f}")
        except _TooMuchError:
            if span_s <= _LEAST_SPAN_S:
                raise
        middle_s = (start_s + end_s) / 2
        return self.samples(selector, start_s, middle_s) + self.samples(selector, middle_s, end_s)

    def close(self) -> None:
        """Give back connections."""
        self._fetcher.close()


def _result(asked: str, status: int, body: bytes) -> list[Entry]:
    try:
        answer = orjson.loads(body)
        if status != 200 or answer["status"] != "success":
            kind = _TooMuchError if status in _TOO_MUCH else SourceError
            raise kind(f"{asked}: status {status}: {answer.get('error') or answer}")
        if answer.get("warnings"):
            raise SourceError(f"{asked}: incomplete: {'; '.join(answer['warnings'])}")
        result: list[Entry] = answer["data"]["result"]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        kind = _TooMuchError if status in _TOO_MUCH else SourceError
        raise kind(f"{asked}: status {status}, not an answer of the query API: {body[:100]!r}") from None
    return result


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
