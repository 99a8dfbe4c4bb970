"""Samples as text, each with its time: OpenMetrics, Prometheus' own text format, what ``promtool tsdb dump`` prints.

https://prometheus.io/docs/specs/om/open_metrics_spec/,
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. A scrape repeats the value of a tier
that is slower than it: where the exporter's clock of its tiers is among the samples, rows lie where each tier was
sampled.

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

from catalog import FAMILIES
from catalog.families.exporter import SAMPLE_TIMESTAMP_SECONDS
from catalog.family import Tier
from catalog.series import Series, parse_series
from detector.frame import Floats
from detector.recording import BATCH_ROWS, Format, Recording, RecordingError, Rows, in_order, span_s

_LABELS = r'\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}'
_LINE = re.compile(rf"([a-zA-Z_:][\w:]*)?({_LABELS})?[ \t]+(\S+)(?:[ \t]+(\S+))?(?:[ \t]+#.*)?\s*")
_SPACED = re.compile(r'("(?:[^"\\]|\\.)*")\s*,\s*')
_COMMENTS = ("# HELP ", "# TYPE ", "# UNIT ", "# EOF")
_MILLISECONDS_FROM = 1e11  # seconds so far from the epoch are the year 5138; so many milliseconds were in 1973
_NAME = "__name__"

Lanes = dict[str, tuple[tuple[Series, ...], Floats, Floats]]


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
                hosts = _read(path, lines)
        except UnicodeDecodeError as error:
            raise RecordingError(f"{path}: is not UTF-8: {error}") from None
        found = [_recording(path, name, job, host) for (name, job), host in sorted(hosts.items()) if host.times_s]
        if not found:
            raise RecordingError(f"{path}: holds no samples of a family that the catalog has")
        return found


@dataclass(slots=True)
class _Host:
    """Times and values of each series, in the order of the file."""

    times_s: dict[Series, array[float]] = field(default_factory=dict)
    values: dict[Series, array[float]] = field(default_factory=dict)


def _is_sample(match: re.Match[str]) -> bool:
    if match[1] is None and match[2] is None:
        return False
    try:
        return math.isfinite(float(match[4] or 0)) and float(match[3]) is not None
    except ValueError:
        return False


def _read(path: Path, lines: Iterator[str]) -> Mapping[tuple[str, str], _Host]:
    """All samples that the catalog has a family for, by instance and job."""
    hosts: dict[tuple[str, str], _Host] = {}
    places: dict[str, tuple[array[float], array[float]] | None] = {}
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None or not _is_sample(match):
            raise RecordingError(f"{path}:{number}: is no sample: {line.strip()[:100]!r}")
        head = (match[1] or "") + (match[2] or "")
        if head not in places:
            places[head] = _place(path, number, head, hosts)
        place = places[head]
        if place is None:
            continue
        if match[4] is None:
            raise RecordingError(
                f"{path}:{number}: has no time, and without one nothing is known of rates: {head[:100]}"
            )
        time_s = float(match[4])
        place[0].append(time_s / 1000 if time_s > _MILLISECONDS_FROM else time_s)
        place[1].append(float(match[3]))
    return hosts


def _place(
    path: Path, number: int, head: str, hosts: dict[tuple[str, str], _Host]
) -> tuple[array[float], array[float]] | None:
    """Where samples of a series go; None for what the catalog does not know or what is read only once."""
    try:
        given = parse_series(_SPACED.sub(r"\1,", head))
    except ValueError as error:
        raise RecordingError(f"{path}:{number}: {error}") from None
    labels = dict(given.labels)
    family = FAMILIES.get(labels.get(_NAME, given.name))
    if family is None or family.tier is Tier.STATIC:
        return None
    series = family(*(labels.get(label, "") for label in family.labels))
    host = hosts.setdefault((labels.get("instance", path.stem), labels.get("job", "")), _Host())
    return host.times_s.setdefault(series, array("d")), host.values.setdefault(series, array("d"))


def _recording(path: Path, name: str, job: str, host: _Host) -> Recording:
    lanes = _lanes(host)
    usual_s = [float(np.median(np.diff(times_s))) for _, times_s, _ in lanes.values() if len(times_s) > 1]
    if not usual_s:
        raise RecordingError(f"{path}: holds a single sample of each series of {name}, and rates need several")
    ends_s = [(float(times_s[0]), float(times_s[-1])) for _, times_s, _ in lanes.values()]
    parts = {tier: in_order((path, rows) for rows in _parts(*lane)) for tier, lane in lanes.items()}
    return Recording(name, min(usual_s), span_s(path, ends_s), parts, job)


def _parts(columns: tuple[Series, ...], times_s: Floats, values: Floats) -> Iterator[Rows]:
    for first in range(0, len(times_s), BATCH_ROWS):
        yield Rows(columns, times_s[first : first + BATCH_ROWS], values[first : first + BATCH_ROWS])


def _lanes(host: _Host) -> Lanes:
    """The series of each tier with the times at which it was sampled, or scraped where that is all that is known."""
    columns = tuple(host.times_s)
    times_s = np.unique(np.concatenate([np.frombuffer(one) for one in host.times_s.values()]))
    values = np.full((len(times_s), len(columns)), np.nan)
    for place, series in enumerate(columns):
        values[np.searchsorted(times_s, np.frombuffer(host.times_s[series])), place] = host.values[series]
    stamps = {
        one.label("tier"): place for place, one in enumerate(columns) if one.name == SAMPLE_TIMESTAMP_SECONDS.name
    }
    skew_s = _skew_s(times_s, values[:, stamps[Tier.FAST]]) if Tier.FAST in stamps else 0.0
    lanes: Lanes = {}
    for tier in Tier:
        places = [place for place, one in enumerate(columns) if FAMILIES[one.name].tier is tier]
        rows = ~np.isnan(values[:, places]).all(axis=1)
        sampled_s = np.round(values[:, stamps[tier]] + skew_s, 3) if tier in stamps else times_s
        # Only what is later than all before: not a repeat, and not after a clock that was set back.
        known = np.where(np.isnan(sampled_s), -np.inf, sampled_s)
        rows &= known > np.concatenate([[-np.inf], np.maximum.accumulate(known)[:-1]])
        if rows.any():
            lanes[tier] = tuple(columns[place] for place in places), sampled_s[rows], values[np.ix_(rows, places)]
    return lanes


def _skew_s(times_s: Floats, fast_s: Floats) -> float:
    """How much later scrapes are than samples of the fastest tier, as a rule."""
    ages_s = (times_s - fast_s)[~np.isnan(fast_s)]
    return round(float(np.median(ages_s)), 1) if len(ages_s) else 0.0
