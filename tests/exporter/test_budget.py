"""Collectors that take too long are read less often, until they no longer do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import count, islice
from threading import Thread

from catalog.family import Tier
from exporter.exposition import Format
from exporter.settings import Settings
from tests.exporter.tiny import Hands, Script, engine, newest, scripted
from tests.servers.process import wait_until

_LIMIT_S = 60.0


def _reader(took_s: Callable[[], float]) -> Callable[[], Sequence[float]]:
    """Reads that keep the CPU busy for so long."""

    def read() -> Sequence[float]:
        until_s = time.perf_counter() + took_s()
        while time.perf_counter() < until_s:
            pass
        return (1.0, 2.0)

    return read


def test_collector_with_a_small_share_of_the_budget_is_moved_when_it_exceeds_that() -> None:
    hands, kind = Hands(), scripted("greedy", Tier.FAST, Script())
    kind.budget_share = 1e-9
    built = engine(hands, kind)
    for tick in range(150):
        built.sampler.tick(tick)
        hands.move(0.1)
    assert built.tally.collectors["greedy"].tier is Tier.MEDIUM


def test_source_over_its_budget_moves_to_the_next_tier_and_its_values_go_on() -> None:
    hands, script = Hands(), Script()
    built = engine(hands, scripted("greedy", Tier.FAST, script), settings=Settings(budget_s=1e-9))
    for tick in range(150):
        built.sampler.tick(tick)
        hands.move(0.1)
    health = built.tally.collectors["greedy"]
    assert (health.tier, health.errors["over_budget"]) == (Tier.MEDIUM, 1)
    assert newest(built, Tier.FAST)[1] == []
    assert newest(built, Tier.MEDIUM)[1] == [1.0, 2.0]
    assert 'hostpulse_test_greedy{device="a"} 1' in built.exposition(Format.TEXT).decode()


def test_source_that_is_quick_again_moves_back_tier_by_tier_and_no_value_is_lost() -> None:
    hands, took_s = Hands(), [0.02]
    read = _reader(lambda: took_s[0])
    kinds = (scripted("greedy", Tier.FAST, Script(read=read)), scripted("medium", Tier.MEDIUM, Script()))
    built = engine(hands, *kinds, settings=Settings(interval_s=1.0))
    slot = next(slot for slot in built.slots if slot.name == "greedy")
    slot._reads_to_return, tiers, ticks = 4, [slot.tier], count(1)

    def go_on(until: Tier) -> None:
        for tick in islice(ticks, 200):
            hands.move(1.0)
            built.sampler.tick(tick)
            wait_until(lambda: built.sampler.resting, _LIMIT_S, "slow reads are done")
            if slot.tier is not tiers[-1]:
                tiers.append(slot.tier)
            if slot.tier is until:
                return

    go_on(Tier.SLOW)
    took_s[0] = 0.0
    go_on(Tier.FAST)
    assert tiers == [Tier.FAST, Tier.MEDIUM, Tier.SLOW, Tier.MEDIUM, Tier.FAST]
    assert (slot.health.errors["over_budget"], slot.health.returns) == (2, 2)
    hands.move(1.0)
    built.sampler.tick(next(ticks))
    assert newest(built, Tier.FAST)[1] == [1.0, 2.0]
    segments = [segment for segment in built.since(0.0) if segment.schema.tier in (Tier.FAST, Tier.MEDIUM)]
    assert len(segments) <= 2 * len(tiers), "each move begins one of the tier it leaves and one of the tier it enters"


def test_running_exporter_takes_a_collector_back_that_is_quick_again() -> None:
    slow = threading.Event()
    slow.set()
    read = _reader(lambda: 0.3 * slow.is_set())
    kinds = (scripted("greedy", Tier.FAST, Script(read=read)), scripted("medium", Tier.MEDIUM, Script()))
    built = engine(None, *kinds, settings=Settings(interval_s=0.5, budget_s=0.2))
    slot = next(slot for slot in built.slots if slot.name == "greedy")
    slot._strikes, slot._reads_to_return = 4, 2
    thread = Thread(target=built.sampler.run)
    thread.start()
    try:
        wait_until(lambda: slot.tier is Tier.MEDIUM, _LIMIT_S, "it is moved")
        slow.clear()
        wait_until(lambda: slot.tier is Tier.FAST, _LIMIT_S, "it is back")
    finally:
        built.sampler.stop()
        thread.join(_LIMIT_S)
    assert (slot.health.errors["over_budget"], slot.health.returns) == (1, 1)
    assert "moved back from medium to fast" in slot.health.reason
