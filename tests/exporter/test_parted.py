"""Reads in two parts: taken at a tick, parsed later."""

from __future__ import annotations

import errno
from collections.abc import Callable
from threading import Thread

import pytest

from catalog.family import Tier
from exporter.collector import Collector, Context, PartedCollector
from exporter.engine import Engine
from exporter.settings import Settings
from exporter.tally import State
from tests.exporter.tiny import START_S, Hands, Script, engine, family, scripted, times_of
from tests.servers.process import wait_until

_LIMIT_S = 60.0


class _Parted:
    """A collector of two parts and what the test wants to know of it."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.parsed: list[int] = []
        self.spoiled: set[int] = set()
        self.devices: dict[int, tuple[str, ...]] = {}
        self.says: dict[int, int] = {}
        self.while_parsing: Callable[[], None] = lambda: None
        outer, own = self, family("hostpulse_test_parted")

        class Parted(PartedCollector):
            """Takes the number of the tick, parses it to itself."""

            name, tier, families, sources = "parted", Tier.FAST, (own,), ()

            def __init__(self, context: Context) -> None:
                del context
                self.series = (own("a"),)

            def take(self) -> int:
                outer.taken.append(outer.says.get(len(outer.taken), len(outer.taken)))
                if -len(outer.taken) in outer.spoiled:
                    raise OSError(errno.EIO, "cannot be taken")
                return outer.taken[-1]

            def parse(self, taken: int) -> list[float]:
                outer.parsed.append(taken)
                outer.while_parsing()
                if taken in outer.spoiled:
                    raise ValueError("cannot be parsed")
                if taken in outer.devices:
                    self.series = tuple(map(own, outer.devices[taken]))
                return [float(taken)] * len(self.series)

        self.kind: type[Collector] = Parted


def _parted_rows(built: Engine) -> list[list[float]]:
    fast = (segment for segment in built.since(0.0) if segment.schema.tier is Tier.FAST)
    return [
        list(piece[start + 1 : start + segment.schema.width])
        for segment in fast
        for piece in segment.pieces
        for start in range(0, len(piece), segment.schema.width)
    ]


def test_what_was_taken_is_parsed_when_somebody_asks_and_in_order() -> None:
    hands, parted = Hands(), _Parted()
    built = engine(hands, parted.kind)
    for tick in range(5):
        hands.elapsed_s = tick / 10
        built.sampler.tick(tick)
    assert (parted.taken, parted.parsed) == ([0, 1, 2, 3, 4], [0])
    assert _parted_rows(built) == [[0.0], [1.0], [2.0], [3.0], [4.0]]
    assert parted.parsed == parted.taken
    assert times_of(built, Tier.FAST) == pytest.approx([START_S + tick / 10 for tick in range(5)])
    assert built.tally.collectors["parted"].succeeded_at_s == START_S, "the wall clock stood still"


def test_what_nobody_asks_for_is_parsed_before_it_piles_up() -> None:
    parted = _Parted()
    built = engine(Hands(), parted.kind)
    for tick in range(100):
        built.sampler.tick(tick)
        assert len(parted.taken) - len(parted.parsed) <= 20


def test_long_parsing_is_done_in_smaller_lots_so_that_no_tick_waits_long_for_it() -> None:
    hands, parted = Hands(), _Parted()
    parted.while_parsing = lambda: hands.move(0.004)
    built = engine(hands, parted.kind)
    for tick in range(100):
        before = len(parted.parsed)
        built.sampler.tick(tick)
        assert len(parted.parsed) - before <= 2


def test_part_that_fails_costs_its_own_tick_alone() -> None:
    parted = _Parted()
    parted.spoiled = {2, -5}
    built = engine(Hands(), parted.kind)
    for tick in range(7):
        built.sampler.tick(tick)
    rows = _parted_rows(built)
    assert [[str(value) for value in row] for row in rows] == [
        ["0.0"],
        ["1.0"],
        ["nan"],
        ["3.0"],
        ["nan"],
        ["5.0"],
        ["6.0"],
    ]
    health = built.tally.collectors["parted"]
    assert health.errors == {"ValueError": 1, "EIO": 1}
    built.sampler.tick(7)
    assert health.state is State.ON


def test_what_says_the_same_again_is_parsed_once() -> None:
    parted = _Parted()
    parted.says = {1: 0, 2: 0, 4: 3, 5: 0}
    built = engine(Hands(), parted.kind)
    for tick in range(6):
        built.sampler.tick(tick)
    assert _parted_rows(built) == [[0.0], [0.0], [0.0], [3.0], [3.0], [0.0]]
    assert parted.parsed == [0, 3, 0]


def test_layout_of_a_read_after_a_failure_is_not_that_of_what_was_parsed_before() -> None:
    parted = _Parted()
    parted.spoiled, parted.devices, parted.says = {1}, {0: ("a",), 2: ("a", "b")}, {3: 0}
    built = engine(Hands(), parted.kind)
    for tick in range(4):
        built.sampler.tick(tick)
        built.sampler.flush()
    assert [[str(value) for value in row] for row in _parted_rows(built)] == [["0.0"], ["nan"], ["2.0", "2.0"], ["0.0"]]


def test_layout_that_changes_between_two_ticks_parsed_together_gives_two_segments() -> None:
    parted = _Parted()
    parted.devices = {3: ("a", "b"), 5: ("b",)}
    built = engine(Hands(), parted.kind, scripted("steady", Tier.FAST, Script(read=lambda: (7.0, 8.0))))
    for tick in range(6):
        built.sampler.tick(tick)
    assert _parted_rows(built) == [
        [0.0, 7.0, 8.0], [1.0, 7.0, 8.0], [2.0, 7.0, 8.0],
        [3.0, 3.0, 7.0, 8.0], [4.0, 4.0, 7.0, 8.0], [5.0, 7.0, 8.0],
    ]  # fmt: skip


def test_readers_and_ticks_at_once_lose_no_sample() -> None:
    parted = _Parted()
    built = engine(None, parted.kind, settings=Settings(interval_s=0.01))
    thread = Thread(target=built.sampler.run)
    thread.start()
    seen: list[float] = []

    def read() -> bool:
        seen[:] = [row[0] for row in _parted_rows(built)]
        return len(seen) >= 60

    wait_until(read, _LIMIT_S, "60 samples")
    built.sampler.stop()
    thread.join(_LIMIT_S)
    assert seen == [float(number) for number in range(len(seen))]
