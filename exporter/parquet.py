"""Rows of the ring as Parquet files: one for each tier and layout, begun anew before it gets large.

A Parquet file has its directory at its end, so that half of one is none. The file that is being filled is therefore
written anew as a whole, beside its place, and then moved there: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog import FAMILIES, recording
from catalog.family import Tier
from exporter.anonymous import Anonymous
from exporter.ring import Schema, Segment

_LARGEST_BYTES = 8 << 20  # of rows: what one file holds, and what is kept in memory of a tier
_LONGEST_S = 1800.0


class FullError(Exception):
    """The recording would become larger than it may."""


@dataclass(slots=True)
class _File:
    """A file that is being filled: its ``rows`` one after the other, ``saved`` doubles of which are on disk."""

    schema: Schema
    names: tuple[str, ...]
    path: Path
    rows: array[float] = field(default_factory=lambda: array("d"))
    saved: int = 0
    size_bytes: int = 0

    @property
    def full(self) -> bool:
        """Whether another file should be begun."""
        span_s = self.rows[-self.schema.width] - self.rows[0] if self.rows else 0.0
        return 8 * len(self.rows) >= _LARGEST_BYTES or span_s >= _LONGEST_S


class Folder:
    """The folder of a recording. ``about`` is what is said of all of it; the layouts of rows are added to it.

    Of ``max_bytes`` all files together take at most as much, half-written ones aside.
    """

    def __init__(self, directory: Path, max_bytes: int, about: dict[str, Any], anonymous: Anonymous) -> None:
        """Claims the folder: of two that want it one gets FileExistsError.

        Raises OSError where the folder cannot be written, FullError where not even what is said of it fits.
        """
        self.rows: Counter[Tier] = Counter()
        self.size_bytes = 0
        self._directory, self._max_bytes, self._anonymous = directory, max_bytes, anonymous
        self._about, self._said = {**about, "schemas": {}}, b""
        self._files: dict[Tier, _File] = {}
        self._numbers: Counter[Tier] = Counter()
        (directory / recording.ABOUT).touch(exist_ok=False)
        try:
            self._describe()
        except (OSError, FullError):
            (directory / recording.ABOUT).unlink(missing_ok=True)
            raise

    @property
    def files(self) -> int:
        """How many Parquet files there are."""
        return self._numbers.total()

    def add(self, segments: Iterable[Segment]) -> None:
        """Take rows; those of a file that is full are written. Raises OSError and FullError.

        What is read only once is left out: ``about`` has it.
        """
        for segment in segments:
            if segment.schema.tier is Tier.STATIC:
                continue
            for piece in segment.pieces:
                self._file(segment.schema).rows.extend(piece)
            self.rows[segment.schema.tier] += segment.rows

    def save(self, **said: object) -> None:
        """Have on disk all that was taken, and what else there is to say. Raises OSError and FullError."""
        self._about |= said
        self._describe()
        for file in self._files.values():
            self._save(file)

    def _file(self, schema: Schema) -> _File:
        """The file that the next row of a layout goes to."""
        file = self._files.get(schema.tier)
        if file is not None and file.schema.digest == schema.digest and not file.full:
            return file
        if file is not None:
            self._save(file)
        names = tuple(str(self._anonymous.series(series)) for series in schema.columns)
        self._about["schemas"][schema.digest] = {**schema.told(), "columns": names}
        self._numbers[schema.tier] += 1
        path = self._directory / recording.file_name(schema.tier, self._numbers[schema.tier])
        file = self._files[schema.tier] = _File(schema, names, path)
        return file

    def _save(self, file: _File) -> None:
        if file.saved < len(file.rows):
            if not file.saved:
                self._describe()  # first, so that whatever ends the recording no file has columns that nobody described
            body = _encoded(file)
            self._replace(file.path, body, file.size_bytes)
            file.saved, file.size_bytes = len(file.rows), len(body)

    def _describe(self) -> None:
        text = json.dumps(self._about, indent=1).encode() + b"\n"
        if text != self._said:
            self._replace(self._directory / recording.ABOUT, text, len(self._said))
            self._said = text

    def _replace(self, path: Path, body: bytes | pa.Buffer, before_bytes: int) -> None:
        """Put a file where another or none was: there is a whole one at any time."""
        size_bytes = self.size_bytes - before_bytes + len(body)
        if size_bytes > self._max_bytes:
            raise FullError(f"{path.name} does not fit any more")
        part = path.with_suffix(".part")
        try:
            part.write_bytes(body)
            os.replace(part, path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        self.size_bytes = size_bytes


def _metadata(schema: Schema) -> dict[str, str]:
    """What any reader of Parquet finds in the file beside its columns."""
    families = {name: FAMILIES[name] for name in dict.fromkeys(series.name for series in schema.columns)}
    told = {name: {"kind": family.kind, "unit": family.unit} for name, family in families.items()}
    return {
        recording.VERSION_KEY: str(recording.VERSION),
        "hostpulse.schema": schema.digest,
        **{f"hostpulse.{key}": str(value) for key, value in schema.told().items()},
        "hostpulse.families": json.dumps(told),
    }


def _encoded(file: _File) -> pa.Buffer:
    """The rows as a Parquet file of one row group."""
    columns = [_column(file.rows[place :: file.schema.width]) for place in range(file.schema.width)]
    table = pa.Table.from_arrays(columns, [recording.TIME, *file.names])
    sink = pa.BufferOutputStream()
    # Arrow's own schema, which would be stored beside that of Parquet, says nothing more and takes as much room again.
    # Dictionaries of values that hardly ever come twice make files larger and take as long again.
    how = {"compression": "zstd", "use_dictionary": False, "store_schema": False}
    with pq.ParquetWriter(sink, table.schema, write_statistics=[recording.TIME], **how) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(_metadata(file.schema))
    return sink.getvalue()


def _column(values: array[float]) -> pa.Array:
    """Values as a column, null where there is none: NaN would make NaN of any sum over it."""
    column = pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(values)])
    missing = pc.is_nan(column)
    return pc.if_else(missing, pa.scalar(None, pa.float64()), column) if missing.true_count else column
