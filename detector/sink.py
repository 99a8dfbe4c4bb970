"""What a sink is, and how sinks are found.

A sink is one file in ``detector/sinks/`` with one subclass of ``Sink``. There is no list to edit.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

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


@dataclass(frozen=True, slots=True)
class Context:
    """What a sink is built with."""

    clock: Clock
    telemetry: Telemetry
    addresses: Mapping[str, str]
    """What is found where, for people: name -> URL."""
    incidents: IncidentStore = field(default_factory=IncidentStore)


class Sink(ABC):
    """A place that verdicts go to. All calls come from one thread."""

    name: ClassVar[str]
    setting: ClassVar[tuple[Any, Any] | None] = None
    """Type and pydantic field that the settings table gets under the sink's name."""

    @classmethod
    @abstractmethod
    def build(cls, setting: Any, context: Context) -> Self | None:
        """The sink, or None where ``setting`` says that it is not wanted."""

    @abstractmethod
    def publish(self, judged: Judged) -> None:
        """Take one verdict. Verdicts of one host come in order of time."""

    def trouble(self, host: Host, reason: str) -> None:  # noqa: B027 - optional to override
        """A host cannot be judged at the moment; no call for each failure, one for each beginning of trouble."""

    def leave(self, host: Host) -> None:  # noqa: B027 - optional to override
        """A host is gone."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Give back what ``build`` opened."""


def discover() -> Mapping[str, type[Sink]]:
    """All sinks by name."""
    found: dict[str, type[Sink]] = {}
    for module in pkgutil.iter_modules(sinks.__path__, "detector.sinks."):
        for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(value, Sink) and not inspect.isabstract(value) and value.__module__ == module.name:
                assert value.name not in found, f"two sinks are called {value.name}"
                found[value.name] = value
    return found
