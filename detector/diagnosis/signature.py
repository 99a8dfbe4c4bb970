"""A signature: what a cause looks like in the signals, what to check, and what to change. One YAML file each.

The schema is strict, and every signal that is named must be in the catalog: a misspelt one is an error, not silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from catalog import FAMILIES, SIGNALS
from catalog.signal import JUDGED_SUBSYSTEMS, Worse
from detector.diagnosis.probes import PROBES
from detector.section import Section

Direction = Literal["higher", "lower"]
Text = Annotated[str, Field(min_length=10)]


class Clue(Section):
    """One signal that moves, and what that says. ``labels`` narrow it to channels that have them."""

    signal: str
    direction: Direction = "higher"
    weight: float = Field(ge=0.25, le=4)
    why: Text
    labels: Mapping[str, str] = Field(default_factory=dict)
    group: str = ""
    """Clues of one group tell the same: only the strongest of them counts."""
    needed: bool = False
    """Without one of the needed clues the signature does not fit at all."""

    @model_validator(mode="after")
    def _is_in_the_catalog(self) -> Self:
        signal = SIGNALS.get(self.signal) or PROBES.get(self.signal)
        if signal is None:
            raise ValueError(f"signal: the catalog has no {self.signal}")
        if signal.worse is not Worse.EITHER and str(signal.worse) != self.direction:
            raise ValueError(f"direction: {self.signal} is judged only where it is {signal.worse}")
        known = {label for family in signal.expression.families() for label in FAMILIES[family].labels}
        unknown = sorted(self.labels.keys() - known)
        if unknown:
            raise ValueError(f"labels: {self.signal} has no label {unknown[0]}")
        return self


class Check(Section):
    """A command that changes nothing, and what to look for in what it prints."""

    run: Annotated[str, Field(min_length=3)]
    look_for: Text


class Reference(Section):
    """Where to read more."""

    title: Text
    url: Annotated[str, Field(pattern=r"^https://\S+$")]


class Signature(Section):
    """See the module."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    subsystem: str
    cause: Text
    clues: tuple[Clue, ...] = Field(alias="for", min_length=1)
    doubts: tuple[Clue, ...] = Field(default=(), alias="against")
    check: tuple[Check, ...] = Field(min_length=1)
    change: tuple[Text, ...] = Field(min_length=1)
    reference: tuple[Reference, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.subsystem not in JUDGED_SUBSYSTEMS:
            raise ValueError(f"subsystem: must be one of {', '.join(JUDGED_SUBSYSTEMS)}")
        if not any(clue.needed for clue in self.clues):
            raise ValueError("for: one clue at least must be needed")
        if any(clue.needed for clue in self.doubts):
            raise ValueError("against: what speaks against is never needed")
        return self
