"""The answer on ``/api/v1/samples``: the ring in binary form. ``docs/samples-api.md`` describes the format."""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from catalog.family import Tier
from exporter.ring import Segment

CONTENT_TYPE = "application/vnd.hostpulse.samples"
_MAGIC = b"HPS1"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose samples they are, and how their times relate to the wall clock at the time of the answer."""

    boot: str
    instance: str
    now_s: float
    wall_offset_s: float


def encode(segments: Sequence[Segment], origin: Origin, known: Collection[str]) -> bytes:
    """Magic, length of the header, header, rows. Columns of schemas that are ``known`` are left out.

    What is read only once is left out too: it has no interval, and ``/metrics`` has it.
    """
    segments = [segment for segment in segments if segment.schema.tier is not Tier.STATIC]
    header = json.dumps(
        {
            "boot": origin.boot,
            "now_s": origin.now_s,
            "wall_offset_s": origin.wall_offset_s,
            "instance": origin.instance,
            "segments": [_described(segment, known) for segment in segments],
        },
        separators=(",", ":"),
    ).encode()
    header += b" " * (-len(header) % 8)  # rows start on a multiple of 8, so that they can be used where they lie
    head = _MAGIC + struct.pack("<I", len(header)) + header
    return b"".join([head, *(piece.tobytes() for segment in segments for piece in segment.pieces)])


def _described(segment: Segment, known: Collection[str]) -> dict[str, object]:
    schema = segment.schema
    return {
        "schema": schema.digest,
        **schema.told(),
        "rows": segment.rows,
        "columns": None if schema.digest in known else schema.names,
    }
