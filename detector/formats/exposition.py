"""Samples as text, each with its time: OpenMetrics, Prometheus' own text format, what ``promtool tsdb dump`` prints.

https://prometheus.io/docs/specs/om/open_metrics_spec/,
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. A scrape repeats the value of a tier
that is slower than it, and other exporters have names of their own: both is dealt with as in what a database tells.

Lines are matched here and not by prometheus_client, whose parsers keep each sample as an object, a whole family at a
time, and do not know how promtool writes a name: a dump has millions of samples.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from catalog.exporters import EXPORTERS
from catalog.series import Series, parse_series
from detector.buffer import Buffer
from detector.frame import Frame
from detector.instances import host_name
from detector.recording import BATCH_ROWS, Format, Recording, RecordingError, Rows, in_order, span_s
from detector.scrapes import Scrapes
from detector.source import Host
from detector.tables import Table
from detector.targets import Target, by_host
from detector.translation import Meaning, Translation

_LABELS = r'\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}'
_LINE = re.compile(rf"([a-zA-Z_:][\w:]*)?({_LABELS})?[ \t]+(\S+)(?:[ \t]+(\S+))?(?:[ \t]+#.*)?\s*")
_SPACED = re.compile(r'("(?:[^"\\]|\\.)*")\s*,\s*')
_COMMENTS = ("# HELP ", "# TYPE ", "# UNIT ", "# EOF")
_MILLISECONDS_FROM = 1e11  # seconds so far from the epoch are the year 5138; so many milliseconds were in 1973
_NAME = "__name__"
_LANE = "samples"


class Exposition(Format):
    """See the module."""

    name: ClassVar[str] = "exposition"
    about: ClassVar[str] = "text with a time on each sample (OpenMetrics, Prometheus, promtool tsdb dump)"

    @classmethod
    def recognises(cls, path: Path, head: bytes) -> bool:  # noqa: ARG003 - its first line tells
        """See ``Format``."""
        first = next((line for line in head.decode("utf-8", "replace").splitlines() if line.strip()), "")
        match = _LINE.fullmatch(first)
        return first.startswith(_COMMENTS) or (match is not None and _is_sample(match))

    @classmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """See ``Format``; all of it is read."""
        try:
            with path.open(encoding="utf-8") as lines:
                targets = _read(path, lines)
        except UnicodeDecodeError as error:
            raise RecordingError(f"{path}: is not UTF-8: {error}") from None
        hosts = ((host, {one: targets[one] for one in of_host}) for host, of_host in by_host(targets).items())
        found = [one for host, of_host in sorted(hosts) if (one := _recording(path, host, of_host)) is not None]
        if not found:
            raise RecordingError(f"{path}: holds no samples of a family that the catalog has")
        return found


@dataclass(slots=True)
class _Samples:
    """Times and values of one series, in the order of the file; ``metric`` are its labels with its name."""

    metric: Mapping[str, str]
    times_s: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))


def _is_sample(match: re.Match[str]) -> bool:
    if match[1] is None and match[2] is None:
        return False
    try:
        return math.isfinite(float(match[4] or 0)) and float(match[3]) is not None
    except ValueError:
        return False


def _read(path: Path, lines: Iterator[str]) -> Mapping[Target, list[_Samples]]:
    """All samples of exporters that the catalog knows, by target."""
    targets: dict[Target, list[_Samples]] = {}
    places: dict[str, _Samples | None] = {}
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None or not _is_sample(match):
            raise RecordingError(f"{path}:{number}: is no sample: {line.strip()[:100]!r}")
        head = (match[1] or "") + (match[2] or "")
        if head not in places:
            places[head] = _place(path, number, head, targets)
        place = places[head]
        if place is None:
            continue
        if match[4] is None:
            raise RecordingError(
                f"{path}:{number}: has no time, and without one nothing is known of rates: {head[:100]}"
            )
        time_s = float(match[4])
        place.times_s.append(time_s / 1000 if time_s > _MILLISECONDS_FROM else time_s)
        place.values.append(float(match[3]))
    return targets


def _place(path: Path, number: int, head: str, targets: dict[Target, list[_Samples]]) -> _Samples | None:
    """Where samples of a series go; None for what no exporter tells that the catalog knows."""
    try:
        given = parse_series(_SPACED.sub(r"\1,", head))
    except ValueError as error:
        raise RecordingError(f"{path}:{number}: {error}") from None
    metric = {_NAME: given.name, **dict(given.labels)}
    ranks = [rank for rank, one in enumerate(EXPORTERS) if metric[_NAME].startswith(one.prefix)]
    if not ranks:
        return None
    instance = metric.get("instance", path.stem)
    target = Target(ranks[0], metric.get("job", ""), instance, host_name(instance))
    samples = _Samples(metric)
    targets.setdefault(target, []).append(samples)
    return samples


def _recording(path: Path, host: Host, targets: Mapping[Target, list[_Samples]]) -> Recording | None:
    """The recording of a host with these targets, the first of which says how often it was sampled; None without any
    sample that can be judged."""
    buffer, intervals_s, told = Buffer(math.inf), [], set[str]()
    for target, samples in targets.items():
        scrapes = Scrapes(target)
        found = _table(samples, scrapes.translation)
        if found[2]:
            scrapes.add_to(buffer, found, told)
            intervals_s.append(scrapes.interval_s)
            told |= scrapes.families
    if not intervals_s:
        return None
    if math.isnan(intervals_s[0]):
        raise RecordingError(f"{path}: holds a single sample of each series of {host.instance}, and rates need several")
    span = span_s(path, [(buffer.oldest_s(), buffer.newest_s())])
    frame = buffer.frame(host.instance, -math.inf, math.inf)
    rows = in_order((path, part) for part in _parts(frame))
    return Recording(host.instance, intervals_s[0], span, {_LANE: rows}, host.job)


def _table(samples: Sequence[_Samples], translation: Translation) -> Table:
    """Times float64[T], values float64[T, S] and S series under the catalog's names; see ``detector.tables``."""
    parts: dict[Series, list[tuple[Meaning, _Samples]]] = {}
    for one in samples:
        meaning = translation(one.metric)
        if meaning is not None:
            parts.setdefault(meaning.series, []).append((meaning, one))
    if not parts:
        return np.empty(0), np.empty((0, 0)), []
    times_s = np.unique(np.concatenate([np.frombuffer(one.times_s) for found in parts.values() for _, one in found]))
    values = np.full((len(times_s), len(parts)), np.nan)
    for column, found in enumerate(parts.values()):
        for meaning, one in sorted(found, key=lambda part: -part[0].rank):
            rows = np.searchsorted(times_s, np.frombuffer(one.times_s))
            values[rows, column] = np.frombuffer(one.values) * meaning.factor
    return times_s, values, list(parts)


def _parts(frame: Frame) -> Iterator[Rows]:
    for first in range(0, len(frame.times_s), BATCH_ROWS):
        rows = slice(first, first + BATCH_ROWS)
        yield Rows(frame.columns, frame.times_s[rows], frame.values[rows])
