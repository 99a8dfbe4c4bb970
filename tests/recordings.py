"""Recordings of made-up hosts, written by the exporter's own code."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from catalog import FAMILIES, recording
from catalog.family import Tier
from detector.frame import Frame
from exporter.anonymous import Anonymous
from exporter.parquet import Folder
from exporter.ring import Schema, Segment
from exporter.samples import Origin, encode

TICKS = {Tier.FAST: 1, Tier.MEDIUM: 10, Tier.SLOW: 150, Tier.GPU: 10}  # of a tenth of a second
ABOUT = {"format": recording.FORMAT, "version": recording.VERSION}


def segments_of(frame: Frame, calm_interval_s: float = 0.0) -> list[Segment]:
    """What the ring of an exporter would hold of a host that is sampled at 10 Hz; slower tiers miss ticks.

    ``calm_interval_s`` is what the exporter was told, if anything; the rows are those of the frame all the same.
    """
    segments = []
    for tier, every in TICKS.items():
        chosen = [place for place, series in enumerate(frame.columns) if FAMILIES[series.name].tier is tier]
        if chosen:
            table = np.column_stack([frame.times_s, frame.values[:, chosen]])[::every]
            columns = tuple(frame.columns[place] for place in chosen)
            if tier is Tier.FAST and calm_interval_s:
                schema = Schema(tier, calm_interval_s, columns, every / 10)
            else:
                schema = Schema(tier, every / 10, columns)
            segments.append(Segment(schema, (array("d", table.tobytes()),)))
    return segments


def as_folder(parts: Iterable[Sequence[Segment]], directory: Path) -> Path:
    """The folder that ``record`` writes when it takes so much at a time."""
    directory.mkdir(exist_ok=True)
    folder = Folder(directory, 1 << 30, ABOUT, Anonymous())
    for segments in parts:
        folder.add(segments)
        folder.save()
    return directory


def as_answer(segments: Sequence[Segment], path: Path) -> Path:
    """A file with what ``/api/v1/samples`` answers."""
    path.write_bytes(encode(segments, Origin("boot", "node1", 0.0, 0.0), ()))
    return path
