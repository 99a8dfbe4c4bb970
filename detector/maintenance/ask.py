"""Requests about maintenance, as people and programs write them, and what they are answered."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from catalog.duration import parse_duration
from detector.incidents.ask import AskError, parse_time
from detector.maintenance.period import Matcher, Period

_FIELDS = ("instance", "job", "start", "duration", "comment")
LONGEST_S = 366 * 86400.0
_LONGEST_TEXT = 200


def asked_period(body: bytes, now_s: float) -> Period:
    """The period that a JSON object asks for: ``instance`` or ``job``, ``duration``, perhaps ``start`` and ``comment``.

    An instance without a port stands for the host, whatever its port.

    Raises:
        AskError: names the field and what is allowed.
    """
    fields = _fields(body)
    matchers = tuple(_matchers(fields))
    if not matchers:
        raise AskError("instance: must be said, or job for all of its hosts")
    start_s = parse_time(fields["start"], "start") if "start" in fields else now_s
    duration_s = _duration_s(fields.get("duration", ""))
    return Period("", matchers, start_s, start_s + duration_s, fields.get("comment", ""))


def as_json(periods: Sequence[tuple[str, Period]]) -> list[dict[str, Any]]:
    """Periods, each with who said so, as what JSON can hold."""
    return [
        {
            "id": period.id,
            "source": source,
            "matchers": [str(matcher) for matcher in period.matchers],
            "start": _date(period.start_s),
            "end": _date(period.end_s),
            "comment": period.comment,
        }
        for source, period in periods
    ]


def _fields(body: bytes) -> Mapping[str, str]:
    try:
        found = orjson.loads(body)
    except ValueError as error:
        raise AskError(f"the body must be a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise AskError('the body must be a JSON object such as {"instance": "node7:17720", "duration": "2h"}')
    for name, value in found.items():
        if name not in _FIELDS:
            raise AskError(f"{name[:_LONGEST_TEXT]!a}: is not one of {', '.join(_FIELDS)}")
        if not isinstance(value, str | int | float) or isinstance(value, bool) or len(str(value)) > _LONGEST_TEXT:
            raise AskError(f"{name}: must be text of at most {_LONGEST_TEXT} characters")
    return {name: str(value) for name, value in found.items()}


def _matchers(fields: Mapping[str, str]) -> list[Matcher]:
    found = [Matcher("job", fields["job"])] if fields.get("job") else []
    instance = fields.get("instance", "")
    if instance and not instance.rpartition(":")[2].isdigit():
        return [*found, Matcher("instance", f"{re.escape(instance)}(:[0-9]+)?", is_regex=True)]
    return [*found, Matcher("instance", instance)] if instance else found


def _duration_s(text: str) -> float:
    try:
        duration_s = parse_duration(text)
    except ValueError as error:
        raise AskError(f"duration: {error}") from None
    if not 0 < duration_s <= LONGEST_S or not math.isfinite(duration_s):
        raise AskError("duration: must be longer than 0 and at most 366d")
    return duration_s


def _date(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
