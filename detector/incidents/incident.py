"""An incident: one episode of one host with all that a report needs, as it is stored and served."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

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
        """The same incident with what an earlier run of the program knew of it."""
        since_s = self.curve[0][0] if self.curve else self.opened_s
        earlier = tuple(point for point in before.curve if point[0] < since_s)
        changed = {
            "opened_s": before.opened_s,
            "peak": max(before.peak, self.peak),
            "page": before.page or self.page,
            "curve": (earlier + self.curve)[-_MOST_POINTS:],
        }
        return self.model_copy(update=changed)

    def as_json(self) -> dict[str, Any]:
        """Its fields without units in their names, as JSON can hold them."""
        return self.model_dump(by_alias=True)


def identity(host: Host, onset_s: float) -> str:
    """Names an incident of a host: the same again when the same episode is seen again.

    >>> identity(Host("node7:17720", "hostpulse"), 1.8e9)
    '20270115T080000-58beb287'
    """
    digest = hashlib.blake2s(f"{host.job}\0{host.instance}\0{onset_s:.3f}".encode(), digest_size=4).hexdigest()
    return f"{datetime.fromtimestamp(onset_s, UTC):%Y%m%dT%H%M%S}-{digest}"
