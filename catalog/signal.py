"""Signals: the quantities that the detector judges, each built from families by one expression."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from catalog.expression import Expression
from catalog.family import Subsystem


class Worse(StrEnum):
    """Which direction is bad news."""

    HIGHER = "higher"
    LOWER = "lower"
    EITHER = "either"


class Role(StrEnum):
    """What a signal tells (after Gregg's USE method, https://www.brendangregg.com/usemethod.html).

    Utilisation moves with any load; saturation, errors and states are specific and weigh more in attribution.
    """

    UTILISATION = "utilisation"
    SATURATION = "saturation"
    ERROR = "error"
    STATE = "state"


class Scale(StrEnum):
    """How deviations are measured: in the signal's own unit, or relative (log1p of the value over its floor)."""

    LINEAR = "linear"
    RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Signal:
    """A judged quantity.

    ``floor`` is the deviation, in ``unit``, that is too small to matter however steady the signal was.
    On the relative scale values well below the floor count as zero and values above it by their logarithm.
    """

    name: str
    help: str
    expression: Expression
    unit: str
    subsystem: Subsystem
    role: Role
    floor: float
    worse: Worse = Worse.HIGHER
    scale: Scale = Scale.RELATIVE

    def __post_init__(self) -> None:
        assert self.floor > 0, f"{self.name}: floor must be positive"
        assert self.help.endswith("."), f"{self.name}: help is a sentence"
        assert self.subsystem in _JUDGED, f"{self.name}: signals are judged by {[str(s) for s in _JUDGED]}"

    def promql(self, window: str = "1m", selector: str = "") -> str:
        """The signal as PromQL, rates over ``window``."""
        return self.expression.promql(window, selector)


_JUDGED = (Subsystem.CPU, Subsystem.GPU, Subsystem.MEMORY, Subsystem.NETWORK, Subsystem.STORAGE)
JUDGED_SUBSYSTEMS: tuple[str, ...] = tuple(str(subsystem) for subsystem in _JUDGED)
