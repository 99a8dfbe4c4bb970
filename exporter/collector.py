"""What a collector is, and how collectors are found.

A collector is one file in ``exporter/collectors/`` with one subclass of ``Collector``. There is no list to edit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from catalog import FAMILIES
from catalog.family import Family, Profile, Tier
from catalog.found import Found
from catalog.series import Series
from exporter import collectors
from exporter.host import Host
from exporter.tally import Tally

Key = TypeVar("Key")


class Unavailable(Exception):  # noqa: N818 - a state, not a fault
    """This host has nothing for a collector to read; the message is the reason shown to people."""


@contextmanager
def or_unavailable() -> Iterator[None]:
    """A file that a constructor cannot open is the reason why its collector is off."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{error.filename}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Context:
    """What a collector is built with."""

    host: Host
    profile: Profile = Profile.CORE
    tally: Tally = field(default_factory=Tally)
    kmsg: str = "/dev/kmsg"

    def wants(self, family: Family) -> bool:
        """Whether the chosen profile includes a family."""
        return family.profile.rank <= self.profile.rank

    def wanted(self, table: Mapping[Key, Series]) -> dict[Key, Series]:
        """The entries whose families the profile includes; Unavailable where it includes none of them."""
        chosen = {key: series for key, series in table.items() if self.wants(FAMILIES[series.name])}
        if not chosen:
            raise Unavailable(f"profile {self.profile} leaves its families out")
        return chosen


def families_of(series: Iterable[Series]) -> tuple[Family, ...]:
    """The families that the series belong to, each once."""
    return tuple(FAMILIES[name] for name in dict.fromkeys(one.name for one in series))


class Collector(Found):
    """One source of samples.

    ``series`` is the layout of what ``read`` returns: one value a series, NaN where there is none. ``read`` may bind
    a *new* tuple to ``series`` before it returns (a device came or went); the sampler then starts a new ring segment.
    The constructor raises ``Unavailable`` with a reason where the host has nothing to read. It and ``read`` raise
    OSError for what the kernel refuses and ValueError for a format that is not known; ``read`` may be called again.
    """

    tier: ClassVar[Tier]
    families: ClassVar[tuple[Family, ...]]
    sources: ClassVar[tuple[str, ...]]
    """Globs of the files read, as on a host whose root is ``/``: drives capture, documentation and mounts."""

    series: tuple[Series, ...]

    budget_share: ClassVar[float] = 1.0
    """Share of ``--sample.budget`` that a read may take before the collector is moved to a slower tier."""

    note: str = ""
    """What of its families this host lacks, and why, for people."""

    @abstractmethod
    def __init__(self, context: Context) -> None:
        """Open what is read at each sample."""

    @abstractmethod
    def read(self) -> Sequence[float]:
        """One value for each of ``series``."""

    def close(self) -> None:
        """Give back what the constructor opened."""


class PartedCollector(Collector):
    """A collector that reads in two parts: ``take`` from the kernel at a tick, ``parse`` later.

    What was taken at several ticks is parsed in one go, which costs a fraction of parsing it tick by tick: after a
    tenth of a second of rest nothing of the program is left in the CPU's caches.
    """

    @abstractmethod
    def take(self) -> Any:
        """What the kernel says now; must not depend on what ``parse`` has seen."""

    @abstractmethod
    def parse(self, taken: Any, /) -> Sequence[float]:
        """The values in what was taken, ``series`` bound to their layout; ValueError for another format.

        What is equal to what was parsed before need not be parsed again.
        """

    @staticmethod
    def glance(taken: Any, /) -> Sequence[float]:  # noqa: ARG004 - most have nothing to show
        """A few counters in what was taken that show early that a host is unsettled, quicker than by ``parse``."""
        return ()

    def read(self) -> Sequence[float]:
        """Both parts at once."""
        return self.parse(self.take())


class FileCollector(PartedCollector):
    """A collector of one text file: a subclass says which, and how to parse it."""

    path: ClassVar[str]

    def __init__(self, context: Context) -> None:
        self.series = ()
        with or_unavailable():
            self._file = context.host.hold(self.path)
            self.parse(self._file.read())

    def take(self) -> bytes:
        """The contents of the file."""
        return self._file.read()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def discover() -> dict[str, type[Collector]]:
    """All collectors by name. A family has exactly one collector, and all its families share the collector's tier."""
    found, owner = Collector.found(collectors.__path__, collectors.__name__), dict[str, str]()
    for kind in found.values():
        for family in kind.families:
            assert family.tier is kind.tier, f"{family.name} is {family.tier}, its collector {kind.name} {kind.tier}"
            assert owner.setdefault(family.name, kind.name) == kind.name, f"{family.name} has two collectors"
    return found
