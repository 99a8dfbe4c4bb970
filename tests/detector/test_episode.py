"""When single windows become an episode, and how it ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from detector.attribution import UNKNOWN
from detector.calibration import alarm_statistic
from detector.episode import CLOSE_AT, MERGE_S, Episode, advance

T = 1.8e9


def _after(levels: list[float], page_level: float = math.inf, episode: Episode | None = None) -> list[Episode]:
    """The episodes after each level, a second apart; each would open with its own second as onset."""
    found = [episode or Episode()]
    for number, level in enumerate(levels):
        found.append(advance(found[-1], level, level > page_level, T + number, T + number - 4, f"s{number}", MERGE_S))
    return found[1:]


@pytest.mark.parametrize(("loud", "opens"), [(4, False), (5, True)])
def test_episode_opens_at_five_of_ten_and_not_at_four(loud: int, opens: bool) -> None:
    scores = np.array([0.1, 1.5] * loud + [0.1] * (10 - 2 * loud) if loud < 5 else [0.1, 1.5] * 5)
    level = float(alarm_statistic(scores, 5, 10)[-1])
    assert _after([level])[-1].open == opens


def test_level_at_the_bound_does_not_open() -> None:
    assert [episode.open for episode in _after([1.0, 1.0001])] == [False, True]


def test_episode_stays_open_between_the_bound_and_the_hysteresis() -> None:
    assert [episode.open for episode in _after([1.5, 0.9, CLOSE_AT, CLOSE_AT - 0.01, 0.9])] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_onset_and_subsystem_are_fixed_at_opening() -> None:
    episodes = _after([0.0, 1.5, 3.0, 2.0])
    assert {(episode.onset_s, episode.subsystem) for episode in episodes[1:]} == {(T - 3, "s1")}


def test_episode_of_the_same_subsystem_is_resumed_with_its_onset_within_a_minute() -> None:
    closed = _after([1.5, 0.0])[-1]
    resumed = advance(closed, 2.0, False, T + 1 + MERGE_S, T + 50, "s0", MERGE_S)
    assert (resumed.open, resumed.onset_s, resumed.subsystem) == (True, T - 4, "s0")
    assert math.isnan(resumed.closed_s)


def test_episode_of_another_subsystem_is_a_new_one_however_soon_it_comes() -> None:
    closed = _after([1.5, 0.0])[-1]
    fresh = advance(closed, 2.0, False, T + 5, T + 3, "other", MERGE_S)
    assert (fresh.open, fresh.onset_s, fresh.subsystem) == (True, T + 3, "other")


def test_episode_that_nothing_led_is_named_when_it_is_resumed() -> None:
    closed = replace(_after([1.5, 0.0])[-1], subsystem=UNKNOWN)
    resumed = advance(closed, 2.0, False, T + 5, T + 3, "memory", MERGE_S)
    assert (resumed.open, resumed.onset_s, resumed.subsystem) == (True, T - 4, "memory")


def test_episode_after_more_than_a_minute_is_a_new_one() -> None:
    closed = _after([1.5, 0.0])[-1]
    fresh = advance(closed, 2.0, False, T + 1.1 + MERGE_S, T + 50, "s0", MERGE_S)
    assert (fresh.open, fresh.onset_s, fresh.subsystem) == (True, T + 50, "s0")


def test_minute_of_merging_counts_from_the_last_close() -> None:
    episode = _after([1.5, 0.0])[-1]
    episode = advance(episode, 2.0, False, T + 50, T + 50, "s0", MERGE_S)
    episode = advance(episode, 0.0, False, T + 55, T + 55, "s0", MERGE_S)
    episode = advance(episode, 2.0, False, T + 110, T + 110, "s0", MERGE_S)
    assert (episode.open, episode.onset_s, episode.subsystem) == (True, T - 4, "s0")


def test_page_needs_the_page_level_and_lasts_until_the_close() -> None:
    episodes = _after([1.5, 3.1, 1.5, 0.0, 1.5], page_level=3.0)
    assert [episode.page for episode in episodes] == [False, True, True, False, False]


def test_page_can_come_with_the_opening() -> None:
    assert _after([3.1], page_level=3.0)[0].page


def test_provisional_bound_never_pages() -> None:
    assert not any(episode.page for episode in _after([1.5, 10.0, 10.0], page_level=math.inf))


def test_quiet_host_has_no_episode() -> None:
    assert _after([-math.inf, 0.0, 0.99]) == [Episode()] * 3
