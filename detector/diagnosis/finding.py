"""What a diagnosis says: how well a signature fits, and what speaks for and against it."""

from __future__ import annotations

from pydantic import Field

from detector.section import Section


class Evidence(Section):
    """One signal that speaks for or against. Values in ``unit``, ``deviation`` in robust standard deviations."""

    signal: str
    channel: str
    direction: str
    unit: str
    typical: float
    actual: float
    deviation: float
    strength: float
    """0 to 1: how far this is more than chance."""
    why: str = ""


class Finding(Section):
    """How well one signature fits; ``confidence`` is 0 to 1."""

    name: str
    title: str
    subsystem: str
    confidence: float
    speaks_for: tuple[Evidence, ...] = Field(default=(), alias="for")
    speaks_against: tuple[Evidence, ...] = Field(default=(), alias="against")
