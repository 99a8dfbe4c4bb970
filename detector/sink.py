"""What a sink is, and how sinks are found.

A sink is one file in ``detector/sinks/`` with one subclass of ``Sink``. There is no list to edit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from catalog.found import Found
from catalog.series import Series
from detector import sinks
from detector.clock import Clock
from detector.frame import Frame
from detector.incidents.store import IncidentStore
from detector.source import Host
from detector.telemetry import Telemetry
from detector.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with all that sinks may want to know of how it came about."""

    host: Host
    verdict: Verdict
    frame: Frame
    """What the verdict was made from."""
    window_s: float
    stride_s: float
    lag_s: float
    """Time from the window's end until now, on the source's clock."""
    complete_s: float
    """Up to when the source has samples: later than the window's end while windows are caught up."""
    constants: Sequence[Series] = ()
    """What the host is, once somebody asked."""

    def without_samples(self) -> Judged:
        """For who keeps it: samples take up to megabytes a host."""
        return replace(self, frame=Frame(self.frame.instance, np.empty(0), np.empty((0, 0)), ()))


@dataclass(frozen=True, slots=True)
class Context:
    """What a sink is built with."""

    clock: Clock
    telemetry: Telemetry
    addresses: Mapping[str, str]
    """What is found where, for people on this machine: name -> URL."""
    incidents: IncidentStore = field(default_factory=IncidentStore)
    address: str = ""
    """URL that people anywhere find the detector at."""


class Sink(Found):
    """A place that verdicts go to. All calls come from one thread."""

    setting: ClassVar[tuple[Any, Any] | None] = None
    """Type and pydantic field that the settings table gets under the sink's name."""

    @classmethod
    @abstractmethod
    def build(cls, setting: Any, context: Context) -> Self | None:
        """The sink, or None where ``setting`` says that it is not wanted."""

    @abstractmethod
    def publish(self, judged: Judged) -> None:
        """Take one verdict. Verdicts of one host come in order of time."""

    def trouble(self, host: Host, reason: str) -> None:
        """A host cannot be judged at the moment; no call for each failure, one for each beginning of trouble."""

    def leave(self, host: Host) -> None:
        """A host is gone."""

    def close(self) -> None:
        """Give back what ``build`` opened."""


def discover() -> Mapping[str, type[Sink]]:
    """All sinks by name."""
    return Sink.found(sinks.__path__, sinks.__name__)
