"""What a source is, and how sources are found.

A source is one file in ``detector/sources/`` with one subclass of ``Source``. There is no list to edit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from catalog.found import Found
from catalog.series import Series
from detector import sources
from detector.clock import Clock
from detector.frame import Frame
from detector.section import Section

KEPT_S = 60.0  # before the start of a read, for the next one


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """Who is judged. ``instance`` and ``job`` go onto all outputs; ``peer``, if not empty, names the workload group
    that it belongs to at the moment."""

    instance: str
    job: str = ""
    peer: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """One exporter that tells of a host, how often it is asked, and the families that are taken from it."""

    exporter: str
    job: str
    instance: str
    interval_s: float
    families: frozenset[str]


class SourceError(Exception):
    """A source could not be read; the message names the address and what was asked."""


class Source(Found):
    """Raw samples of hosts.

    Hosts may be read from several threads at once, one host by one thread at a time. All times are seconds since the
    epoch on the *source's* clock, which need not be ours. Every call is bounded in time and raises ``SourceError``.
    """

    settings: ClassVar[type[Section]]
    address_key: ClassVar[str]
    """Which of its settings says where it reads."""
    grace_s: ClassVar[float]
    """How long after a time its samples can be expected to be readable."""
    late_s: float = 0.0
    """How much longer than that it is by the settings."""

    @abstractmethod
    def __init__(self, settings: Any, horizon_s: float, clock: Clock) -> None:
        """``settings`` is an instance of the class's ``settings``; samples up to ``horizon_s`` old may be asked for."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where it reads, for people: without passwords."""

    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """Who can be read now."""

    @abstractmethod
    def newest_s(self, host: Host) -> float:
        """Up to when the samples of a host's fastest series are complete: later reads add none before that.

        NaN without any sample.
        """

    @abstractmethod
    def oldest_s(self, host: Host) -> float:
        """From when on there are samples, not further back than the horizon. NaN without any sample."""

    @abstractmethod
    def interval_s(self, host: Host) -> float:
        """Seconds between samples of the fastest series. NaN while unknown."""

    @abstractmethod
    def now_s(self, host: Host) -> float:
        """The present time on the source's clock."""

    @abstractmethod
    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        """The samples in (start_s, end_s]; repeats of a slower tier are masked, series without samples are NaN.

        Who reads goes forward in time: what lies more than a minute before ``start_s`` may be gone afterwards.
        """

    def origins(self, host: Host) -> Sequence[Origin]:  # noqa: ARG002 - for who can tell
        """Which exporters tell of a host, as of the last read; the most trusted first. None where nobody knows."""
        return ()

    def constants(self, host: Host) -> Sequence[Series]:  # noqa: ARG002 - for who can tell
        """What the host is, as series whose labels say so (``facts.CONSTANTS``). None where nobody knows."""
        return ()

    def past_hosts(self, start_s: float, end_s: float) -> Sequence[Host]:  # noqa: ARG002 - what the past is
        """Who can be read between two times of the past. Of sources that keep one; afterwards it is read, not the
        present."""
        raise SourceError(f"{self.address} keeps no past: the source prometheus does, and so do recordings")

    def close(self) -> None:
        """Give back connections."""


def discover() -> Mapping[str, type[Source]]:
    """All sources by name."""
    return Source.found(sources.__path__, sources.__name__)
