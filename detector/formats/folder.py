"""A folder that ``hostpulse-exporter record`` wrote; docs/recording.md describes the files.

What reads Parquet is imported only where a folder is read. Rows are handed out in parts, so that a recording may be
larger than memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from catalog import recording
from catalog.series import parse_series
from detector.buffer import Columns
from detector.frame import Floats
from detector.recording import BATCH_ROWS, Format, Recording, RecordingError, Rows, in_order, span_s, thinned


class Folder(Format):
    """See the module."""

    name: ClassVar[str] = "recording"
    about: ClassVar[str] = "a folder that hostpulse-exporter record wrote"

    @classmethod
    def recognises(cls, path: Path, head: bytes) -> bool:  # noqa: ARG003 - a folder has none
        """See ``Format``."""
        return path.is_dir() or path.suffix == recording.SUFFIX

    @classmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """See ``Format``."""
        if not path.is_dir():
            raise RecordingError(f"{path}: is one file of a recording; name its folder, {path.parent}")
        return [_folder(path)]


def _folder(directory: Path) -> Recording:
    paces = _paces(directory)
    files: dict[str, list[Path]] = {}
    for path in sorted(directory.glob(f"*{recording.SUFFIX}")):
        files.setdefault(recording.tier_of(path.name), []).append(path)
    if not files:
        raise RecordingError(f"{directory}: holds no samples: no file ends in {recording.SUFFIX}")
    if not files.keys() <= paces.keys():
        raise RecordingError(f"{directory / recording.ABOUT}: is damaged: says nothing of the columns of the files")
    ends_s = [(_Parquet(paths[0]).span_s[0], _Parquet(paths[-1]).span_s[1]) for paths in files.values()]
    known: dict[tuple[str, ...], Columns] = {}
    return Recording(
        directory.resolve().name,
        min(interval_s for interval_s, _ in paces.values()),
        span_s(directory, ends_s),
        {tier: thinned(in_order(_read(paths, known)), *paces[tier]) for tier, paths in files.items()},
    )


def _paces(directory: Path) -> dict[str, tuple[float, float | None]]:
    """How far apart the rows of each tier are, and how close they are at times, as is said of the whole recording."""
    path = directory / recording.ABOUT
    try:
        about = json.loads(path.read_bytes())
        if about["format"] != recording.FORMAT:
            raise RecordingError(f"{path}: is of {about['format']!r}, not of a {recording.FORMAT!r}")
        _check_version(path, about["version"])
        return {schema["tier"]: _pace(schema) for schema in about["schemas"].values()}
    except FileNotFoundError:
        raise RecordingError(f"{directory}: is no recording, as there is no {recording.ABOUT} in it") from None
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RecordingError(f"{path}: is damaged: {type(error).__name__}: {error}") from None


def _pace(schema: Mapping[str, Any]) -> tuple[float, float | None]:
    interval_s, finest = float(schema["interval_s"]), schema.get("finest_s")
    finest_s = None if finest is None else float(finest)
    if not 0 < interval_s < math.inf or not (finest_s is None or 0 < finest_s <= interval_s):
        raise ValueError("an interval is not a positive number of seconds")
    return interval_s, finest_s


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
        return span_s(self._path, [(first_s, last_s)])

    def tables(self) -> Iterator[Floats]:
        """Parts of the file, float64[T, 1 + S]; NaN where there is no value."""
        try:
            for batch in self._file.iter_batches(BATCH_ROWS):
                columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                yield np.stack(columns, axis=1, dtype=np.float64)
        except self._damage as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> RecordingError:
        return RecordingError(f"{self._path}: is damaged: {str(error).splitlines()[0]}")
