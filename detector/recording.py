"""Reads recordings: a folder that ``hostpulse-exporter record`` wrote, or a file with one answer of the samples API.

docs/recording.md and docs/samples-api.md describe the formats. What reads Parquet is imported only where a folder is
read. Rows are handed out in parts, so that a recording may be larger than memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from catalog import recording
from catalog.series import parse_series
from detector.buffer import Columns
from detector.frame import Floats
from detector.samples import SamplesError, decode

_BATCH_ROWS = 1024
_LONGEST_S = 10 * 366 * 86400.0  # a window for each second of more would never be done


class RecordingError(Exception):
    """There is no recording, or one that cannot be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Samples that follow one another: times_s float64[T] increasing, values float64[T, S] of ``columns``."""

    columns: Columns
    times_s: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Recording:
    """``lanes``: the rows of each tier by age, to be read once; ``span_s``: times of the first and the last sample.

    ``interval_s`` is that of the fastest tier. Reading on raises RecordingError where a file is damaged.
    """

    name: str
    interval_s: float
    span_s: tuple[float, float]
    lanes: Mapping[str, Iterator[Rows]]


def open_recording(path: Path) -> Recording:
    """Look at a recording; its rows are read later. Raises RecordingError."""
    if path.is_dir():
        return _folder(path)
    if path.suffix == recording.SUFFIX:
        raise RecordingError(f"{path}: is one file of a recording; name its folder, {path.parent}")
    try:
        return _answer(path)
    except SamplesError as error:
        raise RecordingError(f"{path}: holds no recording and no answer of /api/v1/samples: {error}") from None
    except ValueError as error:
        raise RecordingError(f"{path}: {error}") from None
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None


def _answer(path: Path) -> Recording:
    header, tables = decode(path.read_bytes(), {})
    lanes: dict[str, list[Rows]] = {}
    for segment, (times_s, values) in zip(header.segments, tables, strict=True):
        if len(times_s):
            columns = tuple(map(parse_series, segment.columns or ()))
            lanes.setdefault(segment.tier, []).append(Rows(columns, times_s, values))
    if not lanes:
        raise RecordingError(f"{path}: holds no samples")
    ends_s = [(float(parts[0].times_s[0]), float(parts[-1].times_s[-1])) for parts in lanes.values()]
    return Recording(
        header.instance,
        min(segment.interval_s for segment in header.segments),
        _span_s(path, ends_s),
        {tier: _in_order((path, part) for part in parts) for tier, parts in lanes.items()},
    )


def _folder(directory: Path) -> Recording:
    about = _about(directory)
    files: dict[str, list[Path]] = {}
    for path in sorted(directory.glob(f"*{recording.SUFFIX}")):
        files.setdefault(recording.tier_of(path.name), []).append(path)
    if not files:
        raise RecordingError(f"{directory}: holds no samples: no file ends in {recording.SUFFIX}")
    intervals_s = [float(schema["interval_s"]) for schema in about["schemas"].values()]
    if not intervals_s:
        raise RecordingError(f"{directory / recording.ABOUT}: is damaged: says nothing of the columns of the files")
    ends_s = [(_Parquet(paths[0]).span_s[0], _Parquet(paths[-1]).span_s[1]) for paths in files.values()]
    known: dict[tuple[str, ...], Columns] = {}
    return Recording(
        directory.resolve().name,
        min(intervals_s),
        _span_s(directory, ends_s),
        {tier: _in_order(_read(paths, known)) for tier, paths in files.items()},
    )


def _span_s(path: Path, ends_s: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """From the first to the last sample of all lanes; RecordingError where nobody can have recorded for so long."""
    firsts_s, lasts_s = zip(*ends_s, strict=True)
    first_s, last_s = min(firsts_s), max(lasts_s)
    if not 0 <= last_s - first_s < _LONGEST_S:
        raise RecordingError(f"{path}: is damaged: its times go from {first_s:.15g} to {last_s:.15g}")
    return first_s, last_s


def _about(directory: Path) -> dict[str, Any]:
    """What is said of a whole recording."""
    path = directory / recording.ABOUT
    try:
        about = json.loads(path.read_bytes())
        if about["format"] != recording.FORMAT:
            raise RecordingError(f"{path}: is of {about['format']!r}, not of a {recording.FORMAT!r}")
        _check_version(path, about["version"])
        if not all(0 < float(schema["interval_s"]) < math.inf for schema in about["schemas"].values()):
            raise ValueError("an interval is not a positive number of seconds")
    except FileNotFoundError:
        raise RecordingError(f"{directory}: is no recording, as there is no {recording.ABOUT} in it") from None
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RecordingError(f"{path}: is damaged: {type(error).__name__}: {error}") from None
    found: dict[str, Any] = about
    return found


def _check_version(path: Path, version: object) -> None:
    if version != recording.VERSION:
        raise RecordingError(f"{path}: is of version {version}, this program reads {recording.VERSION}")


def _read(paths: list[Path], known: dict[tuple[str, ...], Columns]) -> Iterator[tuple[Path, Rows]]:
    """All rows of one tier, each part with its file. Equal columns are the same object, by which they are known."""
    for path in paths:
        file = _Parquet(path)
        columns = known.setdefault(file.names, file.columns)
        for table in file.tables():
            yield path, Rows(columns, table[:, 0], table[:, 1:])


def _in_order(lane: Iterator[tuple[Path, Rows]]) -> Iterator[Rows]:
    """The rows, checked: each is later than the one before it."""
    newest_s = -np.inf
    for path, rows in lane:
        if not np.isfinite(rows.times_s).all() or not (np.diff(rows.times_s, prepend=newest_s) > 0).all():
            raise RecordingError(f"{path}: is damaged: times do not increase near {rows.times_s[0]:.15g}")
        newest_s = rows.times_s[-1]
        yield rows


class _Parquet:
    """One file. All errors name it."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow as pa
            from pyarrow import parquet as pq
        except ModuleNotFoundError as error:
            if error.name != recording.PACKAGE:
                raise
            raise RecordingError(f"{path}: needs {recording.PACKAGE}: install {recording.EXTRA}") from None
        self._path = path
        self._damage = (pa.ArrowException, OSError, ValueError, LookupError, TypeError)
        try:
            self._file = pq.ParquetFile(path)
            metadata = self._file.metadata.metadata or {}
            first, *self._names = self._file.schema_arrow.names
        except self._damage as error:
            raise self._damaged(error) from None
        version = metadata.get(recording.VERSION_KEY.encode(), b"0").decode("latin-1")
        _check_version(path, int(version) if version.isdecimal() else version)
        if first != recording.TIME:
            raise RecordingError(f"{path}: its first column is {first!r}, not {recording.TIME!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The series of all columns but the times', as text."""
        return tuple(self._names)

    @property
    def columns(self) -> Columns:
        """The series of all columns but the times'."""
        try:
            return tuple(map(parse_series, self._names))
        except ValueError as error:
            raise self._damaged(error) from None

    @property
    def span_s(self) -> tuple[float, float]:
        """Times of the first and the last row."""
        try:
            times_s = self._file.read([recording.TIME]).column(0).to_numpy()
            if not len(times_s):
                raise RecordingError(f"{self._path}: holds no rows")
            first_s, last_s = float(times_s[0]), float(times_s[-1])
        except self._damage as error:
            raise self._damaged(error) from None
        return _span_s(self._path, [(first_s, last_s)])

    def tables(self) -> Iterator[Floats]:
        """Parts of the file, float64[T, 1 + S]; NaN where there is no value."""
        try:
            for batch in self._file.iter_batches(_BATCH_ROWS):
                columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                yield np.stack(columns, axis=1, dtype=np.float64)
        except self._damage as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> RecordingError:
        return RecordingError(f"{self._path}: is damaged: {str(error).splitlines()[0]}")
