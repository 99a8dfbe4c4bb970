"""Collectors of a few made-up families, scripted by the test, and clocks that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from catalog.family import Family, Kind, Profile, Subsystem, Tier, Unit
from catalog.series import Series
from exporter.collector import Collector, Context
from exporter.engine import Engine
from exporter.settings import Settings
from exporter.steady import Clock

START_S = 1_700_000_000.0


def family(name: str, tier: Tier = Tier.FAST, kind: Kind = Kind.GAUGE, profile: Profile = Profile.CORE) -> Family:
    """A family of counts with one label."""
    return Family(name, kind, Unit.COUNT, "Made up.", Subsystem.CPU, ("device",), tier, profile, "a test")


@dataclass
class Script:
    """What a scripted collector does. ``devices`` are its series; ``reads`` and ``builds`` count calls."""

    devices: tuple[str, ...] = ("a", "b")
    read: Callable[[], Sequence[float]] = lambda: (1.0, 2.0)
    build: Callable[[], object] = lambda: None
    reads: int = 0
    builds: int = 0
    closed: int = 0


def scripted(name: str, tier: Tier, script: Script, families: tuple[Family, ...] = ()) -> type[Collector]:
    """A collector class that follows ``script``; its family is ``hostpulse_test_NAME``."""
    own = families or (family(f"hostpulse_test_{name}", tier),)

    class Scripted(Collector):
        """Follows the script."""

        def __init__(self, context: Context) -> None:
            del context
            script.builds += 1
            script.build()
            self._devices = script.devices
            self.series: tuple[Series, ...] = tuple(own[0](device) for device in self._devices)

        def read(self) -> Sequence[float]:
            """What the script says; a changed set of devices changes the layout."""
            script.reads += 1
            values = script.read()
            if script.devices != self._devices:
                self._devices = script.devices
                self.series = tuple(own[0](device) for device in self._devices)
            return values

        def close(self) -> None:
            """Counted."""
            script.closed += 1

    Scripted.name, Scripted.tier, Scripted.families, Scripted.sources = name, tier, own, ()
    return Scripted


@dataclass
class Hands:
    """Clocks whose hands the test moves. Waiting moves them, and ``wakes_late_s`` more."""

    elapsed_s: float = 0.0
    wall_s: float = START_S
    wakes_late_s: float = 0.0
    waits_s: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        """Clocks with these hands."""
        return Clock(lambda: self.wall_s, lambda: self.elapsed_s, self.wait)

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed_s += seconds
        self.wall_s += seconds

    def wait(self, seconds: float) -> None:
        """Let time pass, as a sleeper sees it."""
        self.waits_s.append(seconds)
        self.move(seconds + self.wakes_late_s)


def engine(hands: Hands | None = None, *kinds: type[Collector], settings: Settings | None = None) -> Engine:
    """An engine of these collectors alone."""
    clock = hands.clock() if hands else None
    return Engine(settings or Settings(), {kind.name: kind for kind in kinds}, clock)


def newest(built: Engine, tier: Tier) -> tuple[float, list[float]]:
    """Time and values of a tier's newest row."""
    row = next(row for schema, row in built.newest() if schema.tier is tier)
    return row[0], list(row[1:])


def times_of(built: Engine, tier: Tier) -> list[float]:
    """Times of all kept rows of a tier."""
    return [
        piece[start]
        for segment in built.since(0.0)
        if segment.schema.tier is tier
        for piece in segment.pieces
        for start in range(0, len(piece), segment.schema.width)
    ]
