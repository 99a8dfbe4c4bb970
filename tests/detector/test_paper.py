"""The paper's method: it flags a hundredth of what it was fitted on, whatever that is, and what is far away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detector.paper import AGREEMENT, CONTAMINATION, PaperModel, fit_paper
from tests.detector.synthetic import fault_of, synthetic_frame
from tests.detector.watching import JUDGE, watch

NAMES = tuple(f"f{number}" for number in range(12))


@pytest.fixture(scope="module")
def table() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Windows of a calm host, one feature of which is constant and one unknown."""
    x = np.random.default_rng(0).standard_normal((1000, len(NAMES)))
    x[:, 0], x[:, 1] = 5.0, np.nan
    return x


@pytest.fixture(scope="module")
def model(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> PaperModel:
    fitted = fit_paper(table, NAMES)
    assert fitted is not None
    return fitted


def test_each_detector_flags_a_hundredth_of_a_healthy_host(
    model: PaperModel, table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    flags = [model.flags(row, NAMES) for row in table[:300]]
    z = (table[:, 2:] - model.mean) / model.deviation
    for name, values in model.statistics(z).items():
        assert (values > model.bounds[name]).mean() == pytest.approx(CONTAMINATION, abs=1e-3)
    assert 0 < sum(any(each.values()) for each in flags) < 20


def test_what_is_far_away_is_flagged_by_all_and_they_agree(model: PaperModel) -> None:
    assert set(model.flags(np.full(len(NAMES), 8.0), NAMES).values()) == {True}
    calm = model.flags(np.zeros(len(NAMES)), NAMES)
    assert set(calm.values()) == {False}
    assert AGREEMENT in calm


def test_columns_are_found_by_their_names_and_missing_ones_are_typical(model: PaperModel) -> None:
    far = np.arange(len(NAMES), dtype=float)
    assert model.flags(far[::-1], NAMES[::-1]) == model.flags(far, NAMES)
    assert not any(model.flags(np.full(1, 3.0), ("unheard of",)).values())


def test_nothing_is_fitted_where_nothing_varies() -> None:
    assert fit_paper(np.ones((50, 2)), ("a", "b")) is None


def test_flags_stand_beside_the_verdict_only_where_they_are_asked_for() -> None:
    until_s = JUDGE.baseline_s + 40
    frame = synthetic_frame(until_s, fault_of("storage", until_s - 15, until_s))
    asked = watch(frame, replace(JUDGE, paper=True)).verdicts[-1]
    plain = watch(frame, JUDGE).verdicts[-1]
    assert asked.paper[AGREEMENT]
    assert plain.paper == {}
    assert replace(asked, paper={}) == plain
