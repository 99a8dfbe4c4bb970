"""The time scale of a host: where its autocorrelation falls, and which window follows from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from detector.frame import Floats
from detector.timescale import COMPONENTS, autocorrelation, first_below, followed, time_scale_s, window_for
from detector.training import BLOCK_ROWS
from tests.properties import PROPERTY

WINDOW_S, ROWS = 3.0, 2000


def _means(memory_s: float, columns: int = 4, seed: int = 0) -> tuple[Floats, Floats]:
    """Ends [N] and means [N, F] of windows of three seconds, one each second, of one process without or with memory
    (first-order autoregressive, of this time constant) that all columns show, and a little noise of each."""
    draw = np.random.default_rng(seed)
    decay = math.exp(-1.0 / memory_s) if memory_s else 0.0
    process = lfilter([1.0], [1.0, -decay], draw.standard_normal((ROWS + 500, 1)), axis=0)[500:]
    samples = process / process.std() * np.arange(1, columns + 1) + 0.1 * draw.standard_normal((ROWS, columns))
    means = (samples[2:] + samples[1:-1] + samples[:-2]) / 3.0
    return 1.8e9 + np.arange(len(means), dtype=np.float64), means / 4.0


@pytest.mark.parametrize("seed", range(3))
def test_autocorrelation_is_that_counted_pair_by_pair(seed: int) -> None:
    pieces = np.random.default_rng(seed).standard_normal((3, 9, 2)).cumsum(axis=1)
    length = pieces.shape[1]
    expected = []
    for lag in range(length - 1):
        pairs = [
            piece[row + lag, column] * piece[row, column]
            for piece in pieces
            for row in range(length - lag)
            for column in range(2)
        ]
        expected.append(np.mean(pairs))
    assert autocorrelation(pieces) == pytest.approx(np.array(expected) / expected[0])


def test_lag_lies_between_the_two_at_which_the_level_is_passed() -> None:
    assert first_below(np.array([1.0, 0.6, 0.2, 0.9]), 0.4) == pytest.approx(1.5)
    assert first_below(np.array([1.0, 0.9, 0.8]), 0.4) == 3.0


def test_samples_without_memory_have_no_time_scale_however_their_windows_overlap() -> None:
    ends_s, means = _means(0.0)
    assert time_scale_s(ends_s, means, WINDOW_S) < 0.1 * WINDOW_S


def test_time_scale_is_the_time_constant_of_a_host_until_that_is_too_long_to_be_told() -> None:
    memories_s = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
    told_s = np.array([time_scale_s(*_means(memory_s), WINDOW_S) for memory_s in memories_s])
    assert np.all(np.diff(told_s) > 0.1)
    assert told_s[:4] == pytest.approx(memories_s[:4], rel=0.3, abs=0.1)
    assert np.all(told_s[4:] < memories_s[4:])


@pytest.mark.parametrize("memory_s", [3.0, 8.0])
def test_time_scale_is_where_the_autocorrelation_falls_that_is_counted_by_hand(memory_s: float) -> None:
    ends_s, means = _means(memory_s, columns=1)
    whole = len(means) // BLOCK_ROWS * BLOCK_ROWS
    pieces = means[:whole, 0].reshape(-1, BLOCK_ROWS)
    pieces = pieces - pieces.mean(axis=1, keepdims=True)
    r = [np.mean([piece[lag:] * piece[: BLOCK_ROWS - lag] for piece in pieces]) for lag in range(25)] / np.var(pieces)
    fallen = int(np.argmax(r < 1 / math.e))
    lag = np.interp(-1 / math.e, -r[fallen - 1 : fallen + 1], [fallen - 1, fallen])
    assert time_scale_s(ends_s, means, WINDOW_S) == pytest.approx(np.sqrt(lag**2 - ((1 - 1 / math.e) * WINDOW_S) ** 2))


def test_what_is_slower_than_a_stretch_shows_is_slow() -> None:
    ends_s, _ = _means(0.0)
    drift = np.linspace(-4.0, 4.0, len(ends_s))[:, None] * np.ones(3)
    assert BLOCK_ROWS / 6 < time_scale_s(ends_s, drift, WINDOW_S) < BLOCK_ROWS / 3


@PROPERTY
@given(st.permutations(range(4)), st.floats(0.1, 1.0), st.floats(-1e6, 1e6))
def test_order_scale_and_time_of_the_columns_do_not_matter(order: list[int], factor: float, shift_s: float) -> None:
    ends_s, means = (each[:400] for each in _means(3.0))
    scale_s = time_scale_s(ends_s, means, WINDOW_S)
    assert time_scale_s(ends_s + round(shift_s), factor * means[:, order], WINDOW_S) == pytest.approx(scale_s, abs=0.2)


def test_what_leads_counts_and_not_the_many_that_hardly_move() -> None:
    ends_s, slow = _means(5.0)
    fast = 0.05 * np.random.default_rng(1).standard_normal((len(ends_s), 50))
    both = time_scale_s(ends_s, np.concatenate([slow, fast], axis=1), WINDOW_S)
    assert both == pytest.approx(time_scale_s(ends_s, slow, WINDOW_S), rel=0.1)
    assert COMPONENTS < 50


@pytest.mark.parametrize("rows", [0, 1, BLOCK_ROWS - 1, 2 * BLOCK_ROWS - 1])
def test_too_few_windows_tell_nothing(rows: int) -> None:
    ends_s, means = _means(2.0)
    assert math.isnan(time_scale_s(ends_s[:rows], means[:rows], WINDOW_S))


def test_stretch_with_a_gap_in_it_tells_nothing() -> None:
    ends_s, means = (each[: 2 * BLOCK_ROWS + 10].copy() for each in _means(2.0))
    assert time_scale_s(ends_s, means, WINDOW_S) > 0.0
    ends_s[30:] += 100.0
    assert math.isnan(time_scale_s(ends_s, means, WINDOW_S))


@pytest.mark.parametrize("value", [0.0, 1.5, np.nan])
def test_host_that_never_moves_has_no_time_scale(value: float) -> None:
    ends_s, means = _means(2.0)
    assert math.isnan(time_scale_s(ends_s, np.full_like(means, value), WINDOW_S))


@pytest.mark.parametrize(
    ("scale_s", "bounds_s", "stride_s", "expected_s"),
    [
        (0.0, (3.0, 12.0), 1.0, 3.0),
        (7.4, (3.0, 12.0), 1.0, 7.0),
        (99.0, (3.0, 12.0), 1.0, 12.0),
        (110.0, (45.0, 180.0), 15.0, 105.0),
        (2.6, (2.5, 10.0), 1.0, 3.0),
        (2.4, (2.5, 10.0), 1.0, 2.5),
    ],
)
def test_window_is_as_long_as_the_time_scale_in_whole_strides_and_within_bounds(
    scale_s: float, bounds_s: tuple[float, float], stride_s: float, expected_s: float
) -> None:
    assert window_for(scale_s, bounds_s, stride_s) == expected_s


def test_unknown_time_scale_asks_for_no_window() -> None:
    assert math.isnan(window_for(math.nan, (3.0, 12.0), 1.0))


@pytest.mark.parametrize(
    ("wanted_s", "expected_s"),
    [
        ((), 4.0),
        ((9.0,), 4.0),
        ((9.0, 8.0), 8.0),
        ((9.0, 7.0), 4.0),
        ((2.0, 9.0), 4.0),
        ((2.0, 1.0), 1.0),
        ((2.0, 3.0), 4.0),
    ],
)
def test_window_changes_once_two_fits_in_a_row_ask_for_quite_another(
    wanted_s: tuple[float, ...], expected_s: float
) -> None:
    assert followed(4.0, wanted_s) == expected_s
