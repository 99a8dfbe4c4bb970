"""A run of the Reveal data set (arXiv 2510.26008): text in columns, one row every 100 ms, one host or two in a file.

The columns' names are taken apart in ``detector.dataset_columns``. Times are taken for UTC, as nothing is said of them.
What reads the columns is imported only where such a file is read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from catalog import recording
from catalog.series import Series
from detector.dataset_columns import How, Meaning, Name, meaning, parse_name
from detector.frame import Floats
from detector.recording import BATCH_ROWS, Format, Recording, RecordingError, Rows, in_order, span_s

_CLOCK = "Unnamed: 0"  # what the program that wrote the files calls a column without a name
_MISSING = ["", "NaN", "nan", "N/A", "[N/A]", "[Not Supported]", "None", "inf", "-inf"]
_LANE = "rows"

_LOG = logging.getLogger(__name__)

Table = Mapping[str, Floats]


class Dataset(Format):
    """See the module."""

    name: ClassVar[str] = "reveal"
    about: ClassVar[str] = "a run of the Reveal data set (.txt)"

    @classmethod
    def recognises(cls, path: Path, head: bytes) -> bool:  # noqa: ARG003 - its first line tells
        """See ``Format``."""
        first = head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
        cells = first.split(_delimiter(first))
        return cells[0].strip() in ("", _CLOCK) and any(map(parse_name, cells[1:]))

    @classmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """See ``Format``; all of it is read."""
        times_s, table = _table(path)
        hosts: dict[str, dict[Name, str]] = {}
        for column in table:
            name = parse_name(column)
            if name is not None:
                hosts.setdefault(name.host, {})[name] = column
        return [_recording(path, host, names, times_s, table) for host, names in sorted(hosts.items())]


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


def _table(path: Path) -> tuple[Floats, Table]:
    """Times float64[T], increasing, and the columns by name, float64[T] each with NaN where there is no value."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ModuleNotFoundError as error:
        if error.name != recording.PACKAGE:
            raise
        raise RecordingError(f"{path}: needs {recording.PACKAGE}: install {recording.EXTRA}") from None
    with path.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline().rstrip("\r\n")
    clock, *names = first.split(_delimiter(first))
    kinds: dict[str, Any] = {clock: pa.timestamp("ms"), **dict.fromkeys(names, pa.float64())}
    try:
        read = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=_delimiter(first)),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=_MISSING),
        )
        times_s = read.column(0).cast(pa.int64()).to_numpy().astype(np.float64) / 1000
    except (pa.ArrowException, ValueError) as error:
        raise RecordingError(f"{path}: is damaged: {str(error).splitlines()[0]}") from None
    if len(times_s) < 2:
        raise RecordingError(f"{path}: holds {len(times_s)} rows, and rates need several")
    rows = times_s > np.concatenate([[-np.inf], np.maximum.accumulate(times_s)[:-1]])
    columns = {name: read.column(place + 1).to_numpy()[rows] for place, name in enumerate(names)}
    return times_s[rows], columns


def _recording(path: Path, host: str, names: Mapping[Name, str], times_s: Floats, table: Table) -> Recording:
    elapsed_s = np.round(np.diff(times_s), 3)
    usual_s = float(np.median(elapsed_s))
    elapsed_s = np.concatenate([[usual_s], elapsed_s])
    series: dict[Series, Floats] = {}
    for name, column in names.items():
        found = meaning(name)
        if found is None or np.isnan(table[column]).all():
            continue
        values = table[column]
        if found.times:
            other = _of(name, found.times, names)
            if other is None:
                continue
            values = values * table[other]
        series[found.series] = _as_family(found, values, elapsed_s)
    if not series:
        raise RecordingError(f"{path}: none of the columns of {host} is a family of the catalog, or all are empty")
    _LOG.info("%s: %d of the %d columns of %s are read", path, len(series), len(names), host)
    rows = ((path, part) for part in _parts(series, times_s))
    return Recording(host, usual_s, span_s(path, [(float(times_s[0]), float(times_s[-1]))]), {_LANE: in_order(rows)})


def _of(name: Name, metric: str, names: Mapping[Name, str]) -> str | None:
    """The column of another metric of the same instance."""
    return names.get(Name(name.collector, metric, name.instance, name.host, name.change))


def _as_family(found: Meaning, values: Floats, elapsed_s: Floats) -> Floats:
    """Values of the family, float64[T]; NaN stays NaN."""
    values = found.factor * values + found.offset
    match found.how:
        case How.LEVEL:
            return values
        case How.SHARE:
            values = np.maximum(values, 0.0) * elapsed_s
    total: Floats = np.where(np.isnan(values), np.nan, np.nancumsum(values))
    return total - np.nanmin(total) if found.how is How.CHANGE else total


def _parts(series: Mapping[Series, Floats], times_s: Floats) -> Iterator[Rows]:
    columns, values = tuple(series), np.column_stack(list(series.values()))
    for first in range(0, len(times_s), BATCH_ROWS):
        yield Rows(columns, times_s[first : first + BATCH_ROWS], values[first : first + BATCH_ROWS])
