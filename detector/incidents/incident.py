"""An incident: one episode of one host with all that a report needs, as it is stored and served."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from detector.diagnosis.diagnose import MOST_FINDINGS
from detector.diagnosis.finding import Finding
from detector.section import Section
from detector.source import Host
from detector.verdict import Cause

_MOST_POINTS = 1000

Points = tuple[tuple[float, float], ...]


class Line(Section):
    """One channel around an incident: ``points`` are (seconds since the epoch, value in ``unit``)."""

    channel: str
    subsystem: str
    unit: str
    typical: float
    points: Points


class Onset(Section):
    """When a subsystem began to deviate; what came first may be the cause of what came later."""

    subsystem: str
    since_s: float
    channel: str


class Incident(Section):
    """Times in seconds since the epoch, on the host's clock. ``seen_s`` is the newest window that is in it."""

    id: str
    instance: str
    job: str
    onset_s: float
    opened_s: float
    seen_s: float
    end_s: float | None
    """None while it is open."""
    peak: float
    """The highest fused score; 1 is the bound."""
    page: bool
    subsystem: str
    shares: Mapping[str, float]
    order: tuple[Onset, ...]
    signatures: tuple[Finding, ...]
    """Most likely first."""
    features: tuple[Cause, ...]
    """What moved most when the score was highest."""
    votes: Mapping[str, float]
    """The score of each detector when the fused one was highest."""
    curve: Points
    """The fused score."""
    series: tuple[Line, ...]
    facts: Mapping[str, str] = Field(default_factory=dict)
    """What the host is."""

    @property
    def until_s(self) -> float:
        """Its end, or how far it has come."""
        return self.seen_s if self.end_s is None else self.end_s

    def continuing(self, before: Incident) -> Incident:
        """The same incident with what an earlier run of the program knew of it: how the host was before the onset, say.

        What describes its highest score is of the run that saw the higher one.
        """
        since_s = self.curve[0][0] if self.curve else self.opened_s
        curve = _joined(before.curve, self.curve, since_s)
        highest = before if before.peak > self.peak else self
        changed = {
            "opened_s": before.opened_s,
            "peak": highest.peak,
            "page": before.page or self.page,
            "shares": _mixed(before.shares, self.shares, 1.0 - len(self.curve) / max(len(curve), 1)),
            "order": _first(before.order + self.order),
            "signatures": _likeliest(before.signatures + self.signatures),
            "features": highest.features,
            "votes": highest.votes,
            "curve": curve[-_MOST_POINTS:],
            "series": _lines(highest.series or before.series, before.series, self.series, since_s),
            "facts": {**before.facts, **self.facts},
        }
        return self.model_copy(update=changed)

    def as_json(self) -> dict[str, Any]:
        """Its fields without units in their names, as JSON can hold them."""
        return self.model_dump(by_alias=True)


def _joined(before: Points, after: Points, since_s: float) -> Points:
    """The points of two runs, the later of which goes back to ``since_s``."""
    return (*(point for point in before if point[0] < since_s), *after)


def _lines(chosen: Sequence[Line], before: Sequence[Line], after: Sequence[Line], since_s: float) -> tuple[Line, ...]:
    """The chosen lines with their points of both runs."""
    earlier, later = ({line.channel: line.points for line in lines} for lines in (before, after))
    return tuple(
        line.model_copy(update={"points": _joined(earlier.get(line.channel, ()), later.get(line.channel, ()), since_s)})
        for line in chosen
    )


def _mixed(before: Mapping[str, float], after: Mapping[str, float], weight: float) -> dict[str, float]:
    """The shares of two runs, those of the earlier one with ``weight``, 0 to 1."""
    names = dict.fromkeys((*before, *after))
    return {name: weight * before.get(name, 0.0) + (1.0 - weight) * after.get(name, 0.0) for name in names}


def _first(onsets: Iterable[Onset]) -> tuple[Onset, ...]:
    """The first of each subsystem, in order of time."""
    first: dict[str, Onset] = {}
    for onset in sorted(onsets, key=lambda one: one.since_s):
        first.setdefault(onset.subsystem, onset)
    return tuple(first.values())


def _likeliest(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Of each signature the finding that is surest, most likely first."""
    found: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda one: -one.confidence):
        found.setdefault(finding.name, finding)
    return tuple(found.values())[:MOST_FINDINGS]


def identity(host: Host, onset_s: float) -> str:
    """Names an incident of a host: the same again when the same episode is seen again.

    >>> identity(Host("node7:17720", "hostpulse"), 1.8e9)
    '20270115T080000-58beb287'
    """
    digest = hashlib.blake2s(f"{host.job}\0{host.instance}\0{onset_s:.3f}".encode(), digest_size=4).hexdigest()
    return f"{datetime.fromtimestamp(onset_s, UTC):%Y%m%dT%H%M%S}-{digest}"
