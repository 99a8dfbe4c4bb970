"""A figure of the paper beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


class CannotMeasureError(Exception):
    """A part cannot run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """``key`` names it in JSON, ``what`` in the table; ``ours`` is NaN where there is none, and ``note`` says why."""

    key: str
    what: str
    paper: str
    ours: float
    unit: str = ""
    note: str = ""

    @property
    def measured(self) -> bool:
        """Whether there is a figure."""
        return not math.isnan(self.ours)


def percent(share: float) -> float:
    """A share between 0 and 1 in per cent, with one decimal."""
    return round(100 * share, 1)


def table(rows: Sequence[Row]) -> str:
    """Markdown, as docs/benchmarks.md has it."""
    lines = ["| figure | the paper | here | |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.what} | {row.paper or '–'} | {_shown(row)} | {row.note} |" for row in rows]
    return "\n".join(lines)


def _shown(row: Row) -> str:
    return f"{row.ours:g} {row.unit}".strip() if row.measured else "–"
