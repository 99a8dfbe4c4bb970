"""What the detector says of one host at one window's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from detector.features import Feature
from detector.frame import Floats


class Phase(StrEnum):
    """How far a host's model is."""

    LEARNING = "learning"  # no model yet: no score
    PROVISIONAL = "provisional"  # bound from little data: may set active, never page
    CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True)
class Cause:
    """One channel that moved: what it usually is and what it is now, in ``unit``."""

    channel: str
    statistic: str
    subsystem: str
    unit: str
    typical: float
    actual: float
    deviation: float  # in robust standard deviations, signed
    members: tuple[str, ...] = ()  # channels that pruning grouped with this one


@dataclass(frozen=True, slots=True, eq=False)
class Deviations:
    """A window beside what is usual, for all features of the model: float64[F] each, NaN = missing.

    ``z`` are robust standard deviations, signed, 0 on a harmless side; ``x`` and ``median`` are on the deviation scale.
    """

    features: tuple[Feature, ...]
    z: Floats
    x: Floats
    median: Floats


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement. ``score`` is on the scale where 1.0 is the bound; NaN while learning or where all is missing."""

    instance: str
    end_s: float
    phase: Phase
    score: float = float("nan")
    p_value: float = float("nan")
    detectors: Mapping[str, float] = field(
        default_factory=dict
    )  # deviation, subspace, forest, and peers where there are any: each with its bound at 1
    agreement: int = 0  # how many detectors exceed their own bound
    active: bool = False  # the alarm rule holds (warning)
    page: bool = False  # the alarm rule holds at the page budget
    subsystem: str = ""  # the episode's, fixed while it is open; "" when quiet, "unknown" when nothing leads
    shares: Mapping[str, float] = field(default_factory=dict)  # by subsystem, sums to 1
    causes: tuple[Cause, ...] = ()  # most important first
    coverage: float = 0.0  # share of the model's features that had data
    frozen: bool = False  # learning is frozen
    progress: float = 0.0  # 0..1, of the first baseline
    episodes: int = 0  # how many opened since the host is watched
    pages: int = 0  # how many of them paged
    rebaselines: int = 0  # how often an over-long episode was taken as the new normal
    onset_s: float = float("nan")  # of the open episode
    deviations: Deviations | None = field(default=None, compare=False, repr=False)  # None without a model or data
    fitted_s: float = float("nan")  # up to when the model has learned
    maintained: bool = False  # somebody works on the host: no alarm is raised, nothing is learned
    paper: Mapping[str, bool] = field(default_factory=dict)  # flags of the profile paper, where that is on
    common: bool = False  # many hosts of the same group have an episode open: what they share may be to blame
