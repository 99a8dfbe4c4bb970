"""Metric families: what the exporter publishes, declared once and used everywhere.

Naming follows https://prometheus.io/docs/practices/naming/: base units, unit last, ``_total`` only on counters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.series import Series

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PREFIXES = ("hostpulse_", "process_")


class Kind(StrEnum):
    """How values of a family behave in time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"


class Unit(StrEnum):
    """Base units. The value is the suffix that a family's name ends in; counts and flags have none."""

    SECONDS = "seconds"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    RATIO = "ratio"
    HERTZ = "hertz"
    CELSIUS = "celsius"
    WATTS = "watts"
    VOLTS = "volts"
    JOULES = "joules"
    CYCLES = "cycles"
    PAGES = "pages"
    COUNT = ""
    BOOLEAN = "bool"
    ENUM = "enum"
    NONE = "none"


_SUFFIXLESS = {Unit.COUNT, Unit.BOOLEAN, Unit.ENUM, Unit.NONE, Unit.PAGES}


class Subsystem(StrEnum):
    """The part of a host that a family belongs to. ``HOST`` counts as cpu in verdicts, ``EXPORTER`` as none."""

    CPU = "cpu"
    GPU = "gpu"
    MEMORY = "memory"
    NETWORK = "network"
    STORAGE = "storage"
    HOST = "host"
    EXPORTER = "exporter"


class Tier(StrEnum):
    """How often a family is sampled: every 100 ms, every second, every 15 s, or when a device came or went.

    ``GPU`` has an interval and a thread of its own, as calls to the driver may block.
    """

    FAST = "fast"
    MEDIUM = "medium"
    SLOW = "slow"
    GPU = "gpu"
    STATIC = "static"


class Profile(StrEnum):
    """Which ``--profile`` first includes a family; each profile includes the ones before it."""

    CORE = "core"
    STANDARD = "standard"
    FULL = "full"

    @property
    def rank(self) -> int:
        """0 for core, 1 for standard, 2 for full."""
        return list(Profile).index(self)


@dataclass(frozen=True, slots=True)
class Alias:
    """The same quantity under another exporter's name.

    A foreign sample ``name{labels}`` that carries every pair of ``match`` is ours once multiplied by ``factor``,
    with the labels of ``renames`` (ours -> theirs) renamed and those of ``adds`` put on.
    """

    name: str
    factor: float = 1.0
    match: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    adds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __post_init__(self) -> None:
        assert self.name, "an alias needs the foreign metric's name"
        assert self.factor > 0, f"{self.name}: factor must be positive"
        for name in ("match", "adds", "renames"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[type[Alias], tuple[object, ...]]:
        return Alias, (self.name, self.factor, dict(self.match), dict(self.adds), dict(self.renames))


@dataclass(frozen=True, slots=True)
class Family:
    """One metric family. Calling it makes a ``Series``; the name is typed here and nowhere else."""

    name: str
    kind: Kind
    unit: Unit
    help: str
    subsystem: Subsystem
    labels: tuple[str, ...] = ()
    tier: Tier = Tier.FAST
    profile: Profile = Profile.CORE
    source: str = ""
    aliases: tuple[Alias, ...] = ()
    averaged: bool = False
    """Whether a count of several CPUs is told as their mean: that of a clock is."""

    @property
    def averaged_over_cpus(self) -> bool:
        """Whether one value for several CPUs is their mean and not their sum, so that shares of time stay shares."""
        return self.averaged or self.kind is Kind.GAUGE or self.unit is Unit.SECONDS

    def __post_init__(self) -> None:
        name = self.name
        assert _NAME.fullmatch(name), f"{name}: lower-case words joined by single underscores"
        assert name.startswith(_PREFIXES), f"{name}: must start with one of {_PREFIXES}"
        assert (self.kind is Kind.COUNTER) == name.endswith("_total"), f"{name}: _total if and only if a counter"
        assert (self.kind is Kind.INFO) == name.endswith("_info"), f"{name}: _info if and only if an info"
        if self.unit not in _SUFFIXLESS:
            assert name.removesuffix("_total").endswith(f"_{self.unit}"), f"{name}: must end in its unit {self.unit}"
        assert re.fullmatch(r"[A-Z].*\.", self.help), f"{name}: help is a sentence"
        assert self.source, f"{name}: where does the kernel or the driver say it?"
        assert len(set(self.labels)) == len(self.labels), f"{name}: a label stands twice"

    def __call__(self, *values: object) -> Series:
        """The series of this family with these label values, in the order of ``labels``."""
        assert len(values) == len(self.labels), f"{self.name} takes labels {self.labels}, got {values}"
        return Series(self.name, tuple(zip(self.labels, map(_printable, values), strict=True)))


def _printable(value: object) -> str:
    """As text; bytes in the name of a file or a device that are not UTF-8 become a backslash, x and two digits."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
