"""Recordings of hosts, and how the formats that they come in are found.

A format is one file in ``detector/formats/`` with one subclass of ``Format``. There is no list to edit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from catalog.found import Found
from detector import formats
from detector.buffer import Columns
from detector.frame import Floats
from detector.instances import called
from detector.thinning import far_apart

BATCH_ROWS = 1024
_HEAD_BYTES = 1 << 16
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

    ``interval_s`` is that of the fastest tier, ``job`` that of the host's scrapes where it is known. Reading on raises
    RecordingError where a file is damaged.
    """

    name: str
    interval_s: float
    span_s: tuple[float, float]
    lanes: Mapping[str, Iterator[Rows]]
    job: str = ""


class Format(Found):
    """How recordings of one kind are told from others and read."""

    about: ClassVar[str]
    """What it is, for people; empty where it is only told from others."""

    @classmethod
    @abstractmethod
    def recognises(cls, path: Path, head: bytes) -> bool:
        """Whether a file that begins with ``head``, or a folder, is meant to be of this format."""

    @classmethod
    @abstractmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """Look at the recordings of all hosts in it; rows are read later. Raises RecordingError, or OSError."""


def discover() -> Mapping[str, type[Format]]:
    """All formats by name."""
    return Format.found(formats.__path__, formats.__name__)


def allowed() -> str:
    """What can be read, for people."""
    return "; ".join(kind.about for kind in discover().values() if kind.about)


def open_recordings(path: Path) -> Sequence[Recording]:
    """Look at a recording of one host or of several; rows are read later. Raises RecordingError."""
    try:
        head = b"" if path.is_dir() else _head(path)
        for kind in discover().values():
            if kind.recognises(path, head):
                return kind.open(path)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from None
    raise RecordingError(f"{path}: is of no known format; allowed: {allowed()}")


def open_recording(path: Path, instance: str = "") -> Recording:
    """The recording of one host, named by ``instance`` where there are several. Raises RecordingError."""
    found = open_recordings(path)
    meant = called(instance, (one.name for one in found))
    chosen = [one for one in found if one.name in meant]
    if len(chosen) != 1:
        names = ", ".join(meant or (one.name for one in found))
        wrong = f"{instance!r} is not among its hosts" if not chosen else "it holds several hosts"
        raise RecordingError(f"{path}: {wrong}; --instance may be one of {names}")
    return chosen[0]


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEAD_BYTES)


def span_s(path: Path, ends_s: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """From the first to the last sample of all lanes; RecordingError where nobody can have recorded for so long."""
    firsts_s, lasts_s = zip(*ends_s, strict=True)
    first_s, last_s = min(firsts_s), max(lasts_s)
    if not 0 <= last_s - first_s < _LONGEST_S:
        raise RecordingError(f"{path}: is damaged: its times go from {first_s:.15g} to {last_s:.15g}")
    return first_s, last_s


def in_order(lane: Iterator[tuple[Path, Rows]]) -> Iterator[Rows]:
    """The rows, checked: each is later than the one before it."""
    newest_s = -np.inf
    for path, rows in lane:
        if not np.isfinite(rows.times_s).all() or not (np.diff(rows.times_s, prepend=newest_s) > 0).all():
            raise RecordingError(f"{path}: is damaged: times do not increase near {rows.times_s[0]:.15g}")
        newest_s = rows.times_s[-1]
        yield rows


def thinned(lane: Iterator[Rows], interval_s: float, finest_s: float | None) -> Iterator[Rows]:
    """The rows of a tier that are far enough apart, see ``detector.thinning``."""
    newest_s = np.nan
    for rows in lane:
        kept = far_apart(rows.times_s, interval_s, finest_s, newest_s)
        if len(kept):
            newest_s = float(rows.times_s[kept[-1]])
            yield Rows(rows.columns, rows.times_s[kept], rows.values[kept])
