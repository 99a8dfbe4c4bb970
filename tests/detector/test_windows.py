"""Windows hold the samples in (end - window, end]."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detector.windows import window_rows
from tests.detector.arrays import times_s
from tests.properties import PROPERTY

EPOCH_S = 1_800_000_000.0


@PROPERTY
@given(st.integers(0, 60), st.lists(st.floats(-2, 8), max_size=5), st.sampled_from([0.3, 1.0, 20.0]))
def test_rows_are_the_samples_behind_the_start_and_up_to_the_end(
    count: int, offsets_s: list[float], window_s: float
) -> None:
    times = times_s(count)
    ends = np.array([EPOCH_S + offset_s for offset_s in sorted(offsets_s)])
    rows = window_rows(times, ends, window_s)
    for number, end_s in enumerate(ends):
        expected = [row for row, time_s in enumerate(times) if end_s - window_s + 1e-6 < time_s <= end_s + 1e-6]
        assert list(rows[number][rows[number] >= 0]) == expected


def test_sample_on_the_start_is_out_and_on_the_end_is_in() -> None:
    times = EPOCH_S + np.array([0.0, 1.0, 2.0, 3.0])
    assert window_rows(times, np.array([EPOCH_S + 3.0]), 2.0).tolist() == [[2, 3]]


def test_rounded_times_do_not_move_a_sample_into_the_next_window() -> None:
    times = EPOCH_S + 0.1 * np.arange(1, 101, dtype=np.float64)
    rows = window_rows(times, EPOCH_S + np.arange(3.0, 11.0), 3.0)
    assert (rows >= 0).sum(axis=1).tolist() == [30] * 8
