"""What a collector is, and how collectors are found.

A collector is one file in ``exporter/collectors/`` with one subclass of ``Collector``. There is no list to edit.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from catalog.family import Family, Profile, Tier
from catalog.series import Series
from exporter import collectors
from exporter.host import Host
from exporter.tally import Tally


class Unavailable(Exception):
    """This host has nothing for a collector to read; the message is the reason shown to people."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a collector is built with. ``tally`` is for those that report on the exporter itself."""

    host: Host
    profile: Profile = Profile.CORE
    tally: Tally = field(default_factory=Tally)

    def wants(self, family: Family) -> bool:
        """Whether the chosen profile includes a family."""
        return family.profile.rank <= self.profile.rank


class Collector(ABC):
    """One source of samples.

    ``series`` is the layout of what ``read`` returns: one value a series, NaN where there is none. ``read`` may bind
    a *new* tuple to ``series`` before it returns (a device came or went); the sampler then starts a new ring segment.
    The constructor raises ``Unavailable`` with a reason where the host has nothing to read.
    """

    name: ClassVar[str]
    tier: ClassVar[Tier]
    families: ClassVar[tuple[Family, ...]]
    sources: ClassVar[tuple[str, ...]]
    """Globs of the files read, as on a host whose root is ``/``: drives capture, documentation and mounts."""

    series: tuple[Series, ...]

    @abstractmethod
    def __init__(self, context: Context) -> None:
        """Open what is read at each sample."""

    @abstractmethod
    def read(self) -> Sequence[float]:
        """One value for each of ``series``."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Give back what the constructor opened."""


def discover() -> dict[str, type[Collector]]:
    """All collectors by name. A family has exactly one collector, and all its families share the collector's tier."""
    found: dict[str, type[Collector]] = {}
    owner: dict[str, str] = {}
    for module in pkgutil.iter_modules(collectors.__path__, "exporter.collectors."):
        for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if not issubclass(value, Collector) or inspect.isabstract(value) or value.__module__ != module.name:
                continue
            assert value.name not in found, f"two collectors are called {value.name}"
            found[value.name] = value
            for family in value.families:
                assert family.tier is value.tier, f"{family.name} is {family.tier}, its collector {value.name} {value.tier}"
                assert owner.setdefault(family.name, value.name) == value.name, f"{family.name} has two collectors"
    return found
