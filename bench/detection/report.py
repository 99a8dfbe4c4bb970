"""How figures are shown: a table for people, and plain numbers for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.detection.sets import Figures

_HEADINGS = {
    "f1": "f1",
    "ap": "ap",
    "roc": "roc",
    "vus_pr": "vus_pr",
    "paired_roc": "paired",
    "event_recall": "recall",
    "episode_precision": "prec",
    "fpr": "fpr",
    "alarms_per_day": "alarms/d",
    "false_episodes_per_day": "false/d",
    "delay_s": "delay_s",
    "chance_hit_rate": "chance",
}


def table(title: str, figures: Figures) -> str:
    """One row for each detector, with the columns that any of them has; below, what is one figure."""
    rows = {name: row for name, row in figures.items() if isinstance(row, dict)}
    columns = [column for column in _HEADINGS if any(column in row for row in rows.values())]
    lines = [f"{title:<22}" + "".join(f"{_HEADINGS[column]:>9}" for column in columns)]
    lines += [f"  {name:<20}" + "".join(_cell(row.get(column)) for column in columns) for name, row in rows.items()]
    single = [f"{name} {value:.3f}" for name, value in figures.items() if name not in rows]
    return "\n".join([*lines, *(["  " + "  ".join(single)] if single else [])])


def _cell(value: float | None) -> str:
    if value is None or math.isnan(value):
        return f"{'-':>9}"
    return f"{value:>9.3f}" if abs(value) < 1000 else f"{value:>9.0f}"


def plain(figures: Figures) -> Figures:
    """With four decimals, and None for NaN, which JSON does not know."""
    return {
        name: plain(value) if isinstance(value, dict) else None if math.isnan(value) else round(value, 4)
        for name, value in figures.items()
    }


def mean(rows: Sequence[Figures]) -> Figures:
    """Mean of each figure over those that have one; NaN where none has."""
    result: Figures = {}
    for name, first in rows[0].items():
        values = [row[name] for row in rows]
        if isinstance(first, dict):
            result[name] = mean(values)
        else:
            known = [value for value in values if not math.isnan(value)]
            result[name] = sum(known) / len(known) if known else math.nan
    return result
