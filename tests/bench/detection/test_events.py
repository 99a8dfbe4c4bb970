from __future__ import annotations

import numpy as np
import pytest

from bench.detection.events import alarmed, episodes, inside, spans
from tests.bench.detection.made import Bools


def _at(length: int, *stretches: tuple[int, int]) -> Bools:
    return inside(np.array(stretches, dtype=np.intp).reshape(-1, 2), length)


def test_spans_are_the_inverse_of_inside() -> None:
    active = _at(30, (0, 2), (5, 6), (20, 30))
    assert spans(active).tolist() == [[0, 2], [5, 6], [20, 30]]
    assert spans(np.zeros(4, dtype=bool)).tolist() == []


@pytest.mark.parametrize(("interval_s", "expected"), [(300.0, [[0, 8], [20, 21]]), (1.0, [[0, 21]])])
def test_alarms_are_merged_over_a_minute_or_five_points(interval_s: float, expected: list[list[int]]) -> None:
    assert episodes(_at(30, (0, 2), (7, 8), (20, 21)), interval_s).tolist() == expected


def test_figures_of_a_small_case_are_those_counted_by_hand() -> None:
    label = _at(1440, (100, 110), (500, 520), (900, 905))
    active = _at(1440, (103, 106), (521, 530), (700, 710))  # inside; right after; nowhere
    figures = alarmed(active, label, interval_s=60.0, window_s=180.0)
    assert figures.event_recall == pytest.approx(2 / 3)
    assert figures.episode_precision == pytest.approx(1 / 3)
    assert figures.fpr == pytest.approx(19 / 1405)
    assert (figures.alarms_per_day, figures.false_episodes_per_day) == pytest.approx((3.0, 2.0))
    assert figures.delay_s == pytest.approx((3 + 21) / 2 * 60.0)


@pytest.mark.parametrize("seed", range(4))
def test_chance_is_the_mean_over_all_places_that_the_same_alarms_could_have(seed: int) -> None:
    draw = np.random.default_rng(seed)
    active = np.repeat(draw.random(40) < 0.15, 5)
    label = _at(200, (20, 27), (100, 130), (198, 200))
    hits = []
    for start, end in spans(label):
        length = end - start + 3
        hits.append(np.mean([np.roll(active, shift)[:length].any() for shift in range(200)]))
    assert alarmed(active, label, 60.0, 180.0).chance_hit_rate == pytest.approx(np.mean(hits))


def test_silence_finds_nothing_and_is_never_wrong() -> None:
    figures = alarmed(np.zeros(50, dtype=bool), _at(50, (10, 20)), 60.0, 180.0)
    assert (figures.event_recall, figures.fpr, figures.alarms_per_day, figures.chance_hit_rate) == (0, 0, 0, 0)
    assert np.isnan([figures.episode_precision, figures.delay_s]).all()


def test_machine_without_labels_has_false_alarms_only() -> None:
    figures = alarmed(_at(1440, (5, 9)), np.zeros(1440, dtype=bool), 60.0, 180.0)
    assert np.isnan(figures.event_recall)
    assert (figures.episode_precision, figures.false_episodes_per_day) == (0.0, 1.0)
