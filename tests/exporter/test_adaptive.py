"""The fast tier is read seldom while its host is calm, often while it is not, and nothing else changes by that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from catalog.family import Tier
from detector.samples import Header, decode
from exporter.collector import Collector, Context, PartedCollector
from exporter.engine import Engine
from exporter.settings import Settings
from tests.exporter.tiny import START_S, Hands, Script, engine, family, scripted, times_of
from tests.hosts.cluster import Tree
from tests.hosts.machines import MACHINES
from tests.servers.process import Server, wait_until
from tests.servers.programs import start_exporter

_LIMIT_S = 60.0
_LEARNED_S = 15.0
_SETTINGS = Settings(calm_interval_s=0.6)


class Restless:
    """A collector of one counter, which can be seen at a glance; ``count_at`` says how it grows."""

    def __init__(self, hands: Hands) -> None:
        self.count_at: Callable[[float], float] = lambda elapsed_s: 10.0 * elapsed_s
        restless, own = self, family("hostpulse_test_restless")

        class Counting(PartedCollector):
            """Counts."""

            name, tier, families, sources = "restless", Tier.FAST, (own,), ()

            def __init__(self, context: Context) -> None:
                del context
                self.series = (own("a"),)

            def take(self) -> float:
                """The count."""
                return restless.count_at(hands.elapsed_s)

            def parse(self, taken: float) -> Sequence[float]:
                """The count."""
                return (taken,)

            @staticmethod
            def glance(taken: Any) -> Sequence[float]:
                """The count."""
                return (taken,)

        self.kind: type[Collector] = Counting


def _run(built: Engine, hands: Hands, until_s: float) -> None:
    """Run the sampler in this thread on the test's clocks until their time."""
    stop = built.sampler.stop

    def wait(seconds: float) -> None:
        wait_until(lambda: built.sampler.resting, _LIMIT_S, "slow reads are done")
        stop() if hands.elapsed_s >= until_s else hands.wait(seconds)

    built.clock.wait = wait
    built.sampler.run()


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def restless(hands: Hands) -> Restless:
    return Restless(hands)


@pytest.fixture
def built(hands: Hands, restless: Restless) -> Engine:
    others = (scripted(f"c{tier}", tier, Script()) for tier in (Tier.MEDIUM, Tier.SLOW, Tier.GPU))
    return engine(hands, restless.kind, *others, settings=_SETTINGS)


def _gaps_s(built: Engine, tier: Tier, start_s: float, end_s: float) -> set[float]:
    times_s = [time_s - START_S for time_s in times_of(built, tier) if start_s <= time_s - START_S <= end_s]
    assert len(times_s) > 1
    return {round(later - earlier, 6) for earlier, later in pairwise(times_s)}


def _fast_schemas(built: Engine) -> list[tuple[float, float | None]]:
    return [(s.schema.interval_s, s.schema.finest_s) for s in built.since(0.0) if s.schema.tier is Tier.FAST]


def test_calm_host_is_read_seldom_and_the_other_tiers_as_always(built: Engine, hands: Hands) -> None:
    _run(built, hands, 120.0)
    assert _gaps_s(built, Tier.FAST, 0.0, 11.9) == {0.1}
    assert _gaps_s(built, Tier.FAST, _LEARNED_S, 120.0) == {0.6}
    assert _gaps_s(built, Tier.MEDIUM, 0.0, 120.0) == {1.0}
    assert _gaps_s(built, Tier.GPU, 0.0, 120.0) == {1.0}, "stamped a tick after they were read, calm or not"
    assert _gaps_s(built, Tier.SLOW, 0.0, 120.0) == {15.0}
    assert {tier: pace.overruns for tier, pace in built.tally.paces.items() if pace.overruns} == {}
    assert _fast_schemas(built) == [(0.6, 0.1)], "one segment whatever the rate"


def test_sampler_sleeps_while_there_is_nothing_to_read(hands: Hands, restless: Restless) -> None:
    built = engine(hands, restless.kind, settings=_SETTINGS)
    _run(built, hands, 75.0)
    woken = len(built.tally.paces[Tier.FAST].lateness_s)
    assert woken < _LEARNED_S / 0.1 + 60.0 * (1 / 0.6 + 1 / 1.0) + 20.0, "for the fast tier and for the medium one"


def test_change_brings_the_short_interval_within_a_long_one_and_calm_the_long_one(
    built: Engine, hands: Hands, restless: Restless
) -> None:
    restless.count_at = lambda elapsed_s: 10.0 * elapsed_s + 500.0 * min(max(elapsed_s - 30.05, 0.0), 3.0)
    _run(built, hands, 60.0)
    times_s = [time_s - START_S for time_s in times_of(built, Tier.FAST)]
    first_s = next(now for now, then in pairwise(times_s) if now >= _LEARNED_S and then - now < 0.15)
    assert 30.05 < first_s <= 30.65
    assert _gaps_s(built, Tier.FAST, first_s, 35.0) == {0.1}
    assert _gaps_s(built, Tier.FAST, 45.0, 60.0) == {0.6}
    assert built.tally.paces[Tier.FAST].overruns == 0
    assert _fast_schemas(built) == [(0.6, 0.1)]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Tree, Server]]:
    """An exporter of a written host on which nothing happens."""
    tree = Tree(MACHINES["grace"], tmp_path / "host")
    flags = ("--sample.interval=20ms", "--sample.adaptive=120ms", *tree.flags)
    with start_exporter(tmp_path, *flags) as server:
        yield tree, server


def _fast(server: Server) -> tuple[Header, list[float]]:
    header, tables = decode(server.get("/api/v1/samples").content, {})
    fast = [times for segment, (times, _) in zip(header.segments, tables, strict=True) if segment.tier == "fast"]
    return header, [float(time_s) for times in fast for time_s in times]


def test_exporter_changes_its_interval_with_what_its_host_does(served: tuple[Tree, Server]) -> None:
    tree, server = served

    def newest_gaps_s() -> list[float]:
        times_s = _fast(server)[1][-5:]
        return [later - earlier for earlier, later in pairwise(times_s)]

    wait_until(lambda: min(newest_gaps_s(), default=0.0) > 0.08, _LIMIT_S, "the long interval")
    header, _ = _fast(server)
    assert {(segment.interval_s, segment.finest_s) for segment in header.segments if segment.tier == "fast"} == {
        (0.12, 0.02)
    }
    tree.advance()
    wait_until(lambda: max(newest_gaps_s()) < 0.08, _LIMIT_S, "the short interval")
    wait_until(lambda: min(newest_gaps_s()) > 0.08, _LIMIT_S, "the long interval again")
