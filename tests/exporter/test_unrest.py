"""What is told to be unsettled: what a counter has not done lately, and for no longer than that lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from exporter.unrest import Unrest

SPAN_S, TICK_S = 0.6, 0.1
LEARNED_S = 20 * SPAN_S

Rate = Callable[[float], float]


class Watched:
    """A counter whose rate a test says, read as often as the sampler would read it."""

    def __init__(self, rate: Rate, seed: int = 0) -> None:
        self.unrest = Unrest(SPAN_S)
        self.now_s = self.count = 0.0
        self._rate, self._random = rate, Random(seed)

    def until(self, end_s: float) -> Iterator[tuple[float, bool]]:
        """Time and verdict of each reading."""
        while self.now_s < end_s:
            unsettled = self.unrest.unsettled(self.now_s, {"a": (self.count,)})
            yield self.now_s, unsettled
            for _ in range(1 if unsettled else 6):
                self.now_s += TICK_S
                self.count += TICK_S * self._rate(self.now_s) * self._random.gauss(1.0, 0.3)

    def unsettled_s(self, start_s: float, end_s: float) -> float:
        """For how long it was in a part of the time."""
        return sum(TICK_S for now_s, unsettled in self.until(end_s) if unsettled and now_s >= start_s)


def test_host_of_which_little_is_known_is_read_often() -> None:
    verdicts = list(Watched(lambda _: 100.0).until(60.0))
    assert all(unsettled for now_s, unsettled in verdicts if now_s < LEARNED_S - TICK_S)
    assert not verdicts[-1][1]


@pytest.mark.parametrize("seed", range(5))
def test_noise_leaves_a_host_calm(seed: int) -> None:
    assert Watched(lambda _: 100.0, seed).unsettled_s(20.0, 620.0) < 0.02 * 600.0


def test_change_is_seen_at_the_first_reading_that_shows_it() -> None:
    watched = Watched(lambda now_s: 1000.0 if now_s > 120.0 else 100.0)
    first_s = next(now_s for now_s, unsettled in watched.until(200.0) if unsettled and now_s > 100.0)
    assert 120.0 < first_s <= 120.0 + 1.01 * SPAN_S


def test_what_changed_for_good_becomes_usual() -> None:
    watched = Watched(lambda now_s: 1000.0 if now_s > 120.0 else 100.0)
    assert 5.0 < watched.unsettled_s(120.0, 300.0) < 90.0
    assert watched.unsettled_s(300.0, 600.0) < 6.0


def test_blip_costs_little_more_than_itself() -> None:
    watched = Watched(lambda now_s: 3000.0 if 120.0 < now_s < 120.5 else 100.0)
    assert 0.5 < watched.unsettled_s(119.0, 200.0) < 4 * SPAN_S + 0.5


def test_host_is_calm_only_after_it_was_quiet_for_as_long_as_it_was_not_within_bounds() -> None:
    watched = Watched(lambda now_s: 3000.0 if 120.0 < now_s < 126.0 else 100.0)
    assert 6.0 + 5 * SPAN_S < watched.unsettled_s(119.0, 300.0) < 6.0 + 10 * SPAN_S


@pytest.mark.parametrize("every_s", [1.0, 2.0, 5.0, 10.0, 15.0, 30.0])
def test_what_comes_again_and_again_does_not_keep_a_host_unsettled(every_s: float) -> None:
    watched = Watched(lambda now_s: 5000.0 if now_s % every_s < 0.4 else 100.0)
    assert watched.unsettled_s(300.0, 900.0) < 0.4 * 600.0


def test_first_event_of_a_counter_that_stood_still_is_seen() -> None:
    counts = [0.0] * 100 + [1.0] * 100
    unrest = Unrest(SPAN_S)
    verdicts = [unrest.unsettled(SPAN_S * at, {"a": (count, 5.0)}) for at, count in enumerate(counts)]
    assert verdicts[23:100] == [False] * 77
    assert verdicts[100]
    assert not any(verdicts[110:])


def test_source_that_comes_and_goes_changes_nothing_for_the_others() -> None:
    unrest, counts = Unrest(SPAN_S), {"a": (0.0,)}
    verdicts = [unrest.unsettled(SPAN_S * at, counts | {"b": (7.0, 7.0)} if at % 7 else counts) for at in range(200)]
    assert (verdicts[:20], verdicts[23:]) == ([True] * 20, [False] * 177)


def test_counter_that_stood_still_for_hours_may_move_again_as_it_did() -> None:
    """Eight hours of nothing between two times at which it moves alike."""
    night_s, day_s = 8 * 3600.0, 300.0
    watched = Watched(lambda now_s: 100.0 if now_s < 120.0 or now_s > night_s else 0.0)
    watched.unsettled_s(0.0, night_s)
    assert watched.unsettled_s(night_s, night_s + day_s) < 0.3 * day_s
