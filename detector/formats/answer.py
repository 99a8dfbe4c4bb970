"""A file with one answer of ``/api/v1/samples``, all columns included; docs/samples-api.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from catalog.series import parse_series
from detector.recording import Format, Recording, RecordingError, Rows, in_order, span_s, thinned
from detector.samples import MAGIC, SamplesError, decode


class Answer(Format):
    """See the module."""

    name: ClassVar[str] = "samples"
    about: ClassVar[str] = "an answer of /api/v1/samples"

    @classmethod
    def recognises(cls, path: Path, head: bytes) -> bool:  # noqa: ARG003 - its first bytes tell
        """See ``Format``."""
        return head.startswith(MAGIC)

    @classmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """See ``Format``."""
        try:
            return [_answer(path)]
        except SamplesError as error:
            raise RecordingError(f"{path}: is no answer of /api/v1/samples: {error}") from None
        except ValueError as error:
            raise RecordingError(f"{path}: {error}") from None


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
        span_s(path, ends_s),
        {
            tier: thinned(in_order((path, part) for part in parts), *header.pace_of(tier))
            for tier, parts in lanes.items()
        },
    )
