"""A report as a document of few kinds of blocks, which each format writes in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads somewhere."""

    text: str
    url: str


Cell = str | Link


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below headings; a table without headings has its first column as such."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to run, each with what to look for in what it prints."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Links:
    """Where to read more."""

    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Parts of a whole, 0 to 1, each with its name."""

    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A value in ``unit`` over time. ``level`` is a line to compare it with, ``span_s`` a stretch of time to shade."""

    title: str
    unit: str
    points: Points
    level: tuple[str, float] | None = None
    span_s: tuple[float, float] | None = None


Block = Prose | Entries | Table | Commands | Links | Bars | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks below a heading; a ``minor`` one belongs to the section before it."""

    title: str
    blocks: tuple[Block, ...]
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """``lead`` says in a sentence or two what the rest says in full; ``data`` is the same for programs."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    data: Mapping[str, Any] = field(repr=False)


def moment(time_s: float) -> str:
    """A date and time of day in UTC.

    >>> moment(1.8e9)
    '2027-01-15 08:00:00 UTC'
    """
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def time_of_day(time_s: float) -> str:
    """Hours, minutes and seconds in UTC.

    >>> time_of_day(1.8e9)
    '08:00:00'
    """
    return f"{datetime.fromtimestamp(time_s, UTC):%H:%M:%S}"
