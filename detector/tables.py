"""Scrapes of one target: samples of many series put into one table, of which a pair of databases may have two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catalog.series import Series
from detector.frame import Floats
from detector.translation import Meaning

_APART = 0.6  # of an interval: nearer scrapes of two databases are one and the same moment

Table = tuple[Floats, Floats, list[Series]]
Rows = npt.NDArray[np.bool_]
Entry = Mapping[str, Any]


def table(
    entries: Iterable[Entry],
    meaning: Callable[[Mapping[str, str]], Meaning | None],
    replica_labels: Sequence[str],
    interval_s: float,
) -> Table:
    """Scrape times float64[T], values float64[T, S] and S series of a range selector's result.

    Where several databases scraped the target, told apart by ``replica_labels``, the first by name counts, in every
    answer and for every detector; the others fill its gaps.
    """
    tables = [_one(of_one, meaning) for of_one in by_replica(entries, replica_labels)]
    merged: Table = tables[0] if tables else (np.empty(0), np.empty((0, 0)), [])
    for other in tables[1:]:
        merged = _filled(merged, other, interval_s)
    return merged


def by_replica(entries: Iterable[Entry], replica_labels: Sequence[str]) -> list[list[Entry]]:
    """The entries of each database, the databases by name."""
    found: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        replica = tuple(entry["metric"].get(label, "") for label in replica_labels)
        found.setdefault(replica, []).append(entry)
    return [found[replica] for replica in sorted(found)]


def _one(entries: Iterable[Entry], meaning: Callable[[Mapping[str, str]], Meaning | None]) -> Table:
    """The table of one database. A series may come in parts: its labels that we do not know may have changed."""
    parts: dict[Series, list[tuple[int, float, Sequence[tuple[float, str]]]]] = {}
    for entry in entries:
        found = meaning(entry["metric"])
        if found is not None:
            parts.setdefault(found.series, []).append((found.rank, found.factor, entry["values"]))
    times = sorted({time_s for of_series in parts.values() for _, _, values in of_series for time_s, _ in values})
    rows = {time_s: row for row, time_s in enumerate(times)}
    filled = np.full((len(times), len(parts)), np.nan)
    for column, of_series in enumerate(parts.values()):
        for _, factor, values in sorted(of_series, key=lambda part: -part[0]):
            for time_s, text in values:
                filled[rows[time_s], column] = float(text) * factor
    return np.array(times, dtype=np.float64), filled, list(parts)


def _filled(table: Table, other: Table, interval_s: float) -> Table:
    """The table, with rows of the other one where it has none nearby, and after its last one where the next was due."""
    times_s, values, series = table
    columns = list(dict.fromkeys([*series, *other[2]]))
    distance_s = np.abs(other[0][:, None] - times_s[None, :]).min(axis=1, initial=np.inf)
    is_after = other[0] > times_s.max(initial=-np.inf)
    added = distance_s > np.where(is_after, interval_s, _APART * interval_s)
    all_s = np.concatenate([times_s, other[0][added]])
    wide = np.full((len(all_s), len(columns)), np.nan)
    wide[: len(times_s), : len(series)] = values
    wide[len(times_s) :, [columns.index(one) for one in other[2]]] = other[1][added]
    order = np.argsort(all_s, kind="stable")
    return all_s[order], wide[order], columns


def advancing(times_s: Floats) -> Rows:
    """Which rows are later than all before: not a repeat, and not after a clock that was set back."""
    known = np.where(np.isnan(times_s), -np.inf, times_s)
    before = np.concatenate([[-np.inf], np.maximum.accumulate(known)[:-1]])
    kept: Rows = known > before
    return kept


def changing(values: Floats) -> Rows:
    """Which rows differ from the one before: an exporter that reads its device more rarely than it is scraped repeats.

    The first is taken for one that does.
    """
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return np.concatenate([[True], ~same.all(axis=1)])[: len(values)]
