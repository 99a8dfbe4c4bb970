"""What is asked for: a host and a span of time, as people and programs write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from detector.instances import called

EARLIEST_S, LATEST_S = 0.0, datetime(9998, 1, 1, tzinfo=UTC).timestamp()
"""Times of which a date can be written, with room for a duration behind them."""
_SHOWN = 40
_SECONDS = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)


class AskError(Exception):
    """A question that cannot be answered; the message names the field and what is allowed."""


@dataclass(frozen=True, slots=True)
class Span:
    """``instance`` "" is every host; times in seconds since the epoch, infinite where nothing was said."""

    instance: str = ""
    from_s: float = -math.inf
    to_s: float = math.inf


def asked_span(fields: Mapping[str, str], known: Iterable[str]) -> Span:
    """The span in the fields ``instance``, ``from`` and ``to``, each of which may be missing.

    ``known`` are the instances of which there is something to tell, see ``asked_instance``.

    Raises:
        AskError: a time that is none, or a span that ends before it begins.
    """
    from_s = parse_time(fields["from"], "from") if fields.get("from") else -math.inf
    to_s = parse_time(fields["to"], "to") if fields.get("to") else math.inf
    if to_s < from_s:
        raise AskError("to: must not be before from")
    return Span(asked_instance(fields.get("instance", ""), known), from_s, to_s)


def asked_instance(name: str, known: Iterable[str]) -> str:
    """The instance that a name means, of those that are known; the name itself where it means none of them.

    Raises:
        AskError: it is the name of a host with several.
    """
    meant = called(name, known) if name else []
    if len(meant) > 1:
        raise AskError(f"instance: {name[:_SHOWN]!a} has several; it must be one of {', '.join(sorted(meant))}")
    return meant[0] if meant else name


def parse_time(text: str, field: str) -> float:
    """Seconds since the epoch of a number of seconds, or of a date and time, which is UTC where it says no other.

    >>> parse_time("1800000000", "from"), parse_time("2027-01-15T09:00+01:00", "from")
    (1800000000.0, 1800000000.0)

    Raises:
        AskError: it is neither.
    """
    seconds = float(text) if _SECONDS.fullmatch(text) else date_s(text)
    if not EARLIEST_S <= seconds <= LATEST_S:  # NaN is not either
        shown = text[:_SHOWN].encode("ascii", "replace").decode()
        raise AskError(
            f"{field}: must be seconds since the epoch or a time such as 2027-01-15T08:00:00Z, from 1970 to 9997, "
            f"not {shown!r}"
        )
    return seconds


def date_s(text: str) -> float:
    """Seconds since the epoch of a date and time, which is UTC where it says no other; NaN of what is none."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.nan
