from __future__ import annotations

import numpy as np
import pytest

from bench.detection.events import inside, spans
from bench.detection.vus import period, softened, vus_pr
from tests.bench.detection.made import Bools, Floats, labelled_scores


def _weights(label: Bools, buffer: int) -> Floats:
    """By definition: each point near a segment adds the root of one less its distance over the buffer."""
    weight: Floats = label.astype(np.float64)
    for start, end in spans(label):
        for row in range(len(label)):
            distance = start - row if row < start else row - (end - 1)
            if 0 < distance <= buffer // 2:
                weight[row] += np.sqrt(1 - distance / buffer)
    return weight.clip(max=1.0)


def _naive_area(label: Bools, score: Floats, buffer: int) -> float:
    weight, area, last = _weights(label, buffer), 0.0, 0.0
    grown = spans(label) + np.array([-(buffer // 2), buffer // 2])
    joined = spans(inside(np.clip(grown, 0, len(label)), len(label)))
    for row in np.linspace(0, len(score) - 1, 250).astype(int):
        flagged = score >= np.sort(score)[::-1][row]
        found = (weight * flagged).sum()
        positives = (label.sum() + label.sum() + (weight * flagged)[~label].sum()) / 2
        met = np.mean([flagged[start:end].any() for start, end in joined])
        recall = min(found / positives, 1.0) * met
        area += (recall - last) * found / flagged.sum()
        last = recall
    return float(area)


@pytest.mark.parametrize("decimals", [1, 8], ids=["many-ties", "no-ties"])
@pytest.mark.parametrize("seed", range(3))
def test_volume_is_the_mean_of_naive_areas(seed: int, decimals: int) -> None:
    label, score = labelled_scores(seed, 400, decimals)
    naive = [_naive_area(label, score, buffer) for buffer in range(13)]
    assert vus_pr(label, score, 12) == pytest.approx(np.mean(naive))


def test_volume_is_what_the_authors_program_gives() -> None:
    rows = np.arange(700)
    label = inside(np.array([[0, 9], [200, 215], [233, 240], [690, 700]]), 700)
    score = np.sin(rows * 1.7) + np.cos(rows * 0.31) + 1.3 * label
    assert vus_pr(label, score, 40) == pytest.approx(PROGRAM_SAYS, abs=1e-12)


PROGRAM_SAYS = 0.4457136883653041  # vus 0.0.6, metricor().RangeAUC_volume_opt(label, score, 40)[-1]


def test_labels_fall_off_on_both_sides_and_never_exceed_one() -> None:
    label = inside(np.array([[5, 7], [9, 10]]), 14)
    weight = softened(label, spans(label), 4)
    assert weight == pytest.approx(_weights(label, 4))
    assert weight.max() == 1.0
    assert (softened(label, spans(label), 0) == label).all()


def test_period_is_that_of_the_strongest_repetition() -> None:
    rows = np.arange(3000)
    noise = np.random.default_rng(1).normal(0, 0.1, 3000)
    assert period(np.sin(rows * 2 * np.pi / 60) + noise) == pytest.approx(60, abs=1)
    assert period(rows.astype(float)) == period(np.full(3000, 2.0)) == 125


def test_nothing_labelled_has_no_volume() -> None:
    assert np.isnan(vus_pr(np.zeros(9, dtype=bool), np.arange(9.0), 3))
