"""The exporter's answer on ``/api/v1/samples``: magic, length of the header, JSON header, rows of float64."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from detector.frame import Floats

MAGIC = b"HPS1"
_HEAD = struct.Struct("<4sI")


class SamplesError(ValueError):
    """The bytes are not what the exporter promises; the message says where they stop being it."""


class Segment(BaseModel):
    """Rows of one tier under one schema. ``columns`` None where the client knows it."""

    model_config = ConfigDict(frozen=True)

    schema_hash: str = Field(alias="schema")
    tier: str
    interval_s: float = Field(gt=0, allow_inf_nan=False)
    finest_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    rows: int = Field(ge=0)
    columns: tuple[str, ...] | None


class Header(BaseModel):
    """What stands before the rows. Times are steady: a step of the wall clock does not show in them."""

    model_config = ConfigDict(frozen=True)

    boot: str = Field(min_length=1)
    now_s: float = Field(allow_inf_nan=False)
    wall_offset_s: float = Field(allow_inf_nan=False)
    instance: str
    segments: tuple[Segment, ...]

    def pace_of(self, tier: str) -> tuple[float, float | None]:
        """How far apart the rows of a tier are, and how close they are at times."""
        newest = [segment for segment in self.segments if segment.tier == tier][-1]
        return newest.interval_s, newest.finest_s


def decode(body: bytes, widths: Mapping[str, int]) -> tuple[Header, list[tuple[Floats, Floats]]]:
    """Header and, for each segment, times float64[T] and values float64[T, S].

    ``widths`` gives S of the schemas that the request said are known.

    Raises:
        SamplesError: wrong magic, header or length.
    """
    if len(body) < _HEAD.size:
        raise SamplesError(f"{len(body)} bytes are no samples")
    magic, length = _HEAD.unpack_from(body)
    if magic != MAGIC:
        raise SamplesError(f"samples start with {MAGIC!r}, not {magic!r}: is this a hostpulse exporter?")
    start = _HEAD.size + length
    if start > len(body):
        raise SamplesError(f"truncated: {length} bytes of header promised, {len(body) - _HEAD.size} sent")
    try:
        header = Header.model_validate_json(body[_HEAD.size : start])
    except ValidationError as error:
        first = error.errors()[0]
        raise SamplesError(f"header: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    shapes = [(segment.rows, 1 + _width(segment, widths)) for segment in header.segments]
    expected = start + sum(rows * width for rows, width in shapes) * 8
    if len(body) != expected:
        raise SamplesError(f"{'truncated' if len(body) < expected else 'too long'}: {len(body)} bytes, not {expected}")
    tables: list[tuple[Floats, Floats]] = []
    for segment, (rows, width) in zip(header.segments, shapes, strict=True):
        table = np.frombuffer(body, dtype="<f8", count=rows * width, offset=start).reshape(rows, width)
        start += table.nbytes
        tables.append((_checked_times(table[:, 0], segment), table[:, 1:]))
    return header, tables


def _width(segment: Segment, widths: Mapping[str, int]) -> int:
    if segment.columns is not None:
        return len(segment.columns)
    if segment.schema_hash not in widths:
        raise SamplesError(f"schema {segment.schema_hash} without columns, though they were not known")
    return widths[segment.schema_hash]


def _checked_times(times_s: Floats, segment: Segment) -> Floats:
    ordered: Literal[True] | np.bool_ = np.isfinite(times_s).all() and np.all(np.diff(times_s) > 0)
    if not ordered:
        raise SamplesError(f"times of segment {segment.schema_hash} ({segment.tier}) do not increase")
    return times_s
