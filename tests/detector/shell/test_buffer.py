"""The buffer: lanes on one time axis, columns that come and go, memory bounded in time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.series import Series
from detector.buffer import Buffer

A, B, C = Series("a"), Series("b"), Series("c")
AB, BC = (A, B), (B, C)


def rows(times_s: list[float], width: int) -> np.ndarray:
    """Values that tell time and column: 10 x time + column."""
    return np.array([[10 * time_s + column for column in range(width)] for time_s in times_s]).reshape(-1, width)


def add(buffer: Buffer, lane: str, columns: tuple[Series, ...], *times_s: float) -> None:
    buffer.add(lane, columns, np.array(times_s), rows(list(times_s), len(columns)))


def test_frame_is_open_at_its_start_and_closed_at_its_end() -> None:
    buffer = Buffer(100)
    add(buffer, "fast", AB, 1, 2, 3, 4)
    frame = buffer.frame("h", 1, 3)
    assert frame.times_s.tolist() == [2, 3]
    assert frame.values.tolist() == [[20, 21], [30, 31]]


def test_equal_times_of_two_lanes_become_one_row() -> None:
    buffer = Buffer(100)
    add(buffer, "fast", (A,), 1, 2, 3)
    add(buffer, "medium", (C,), 2)
    frame = buffer.frame("h", 0, 9)
    assert frame.columns == (A, C)
    np.testing.assert_array_equal(frame.values, [[10, np.nan], [20, 20], [30, np.nan]])


def test_columns_are_the_union_over_schemas() -> None:
    buffer = Buffer(100)
    add(buffer, "fast", AB, 1, 2)
    add(buffer, "fast", BC, 3)
    frame = buffer.frame("h", 0, 9)
    by_series = {series: frame.values[:, column].tolist() for column, series in enumerate(frame.columns)}
    assert set(frame.columns) == {A, B, C}
    np.testing.assert_array_equal(by_series[A], [10, 20, np.nan])
    np.testing.assert_array_equal(by_series[B], [11, 21, 30])
    np.testing.assert_array_equal(by_series[C], [np.nan, np.nan, 31])


def test_series_of_a_slow_lane_stay_columns_between_its_samples() -> None:
    buffer = Buffer(100)
    add(buffer, "slow", (C,), 1)
    add(buffer, "fast", (A,), 20, 21)
    frame = buffer.frame("h", 19, 21)
    assert set(frame.columns) == {A, C}
    assert np.isnan(frame.values[:, frame.columns.index(C)]).all()


def test_columns_are_the_same_object_while_nothing_changes() -> None:
    buffer = Buffer(100)
    add(buffer, "fast", AB, 1, 2)
    before = buffer.frame("h", 0, 9).columns
    add(buffer, "fast", AB, 3)
    assert buffer.frame("h", 0, 9).columns is before


def test_rows_read_again_replace_those_before() -> None:
    buffer = Buffer(100)
    buffer.add("fast", AB, np.array([1.0, 2.0, 3.0]), np.array([[1, 1], [2, np.nan], [3, np.nan]]))
    buffer.add("fast", AB, np.array([2.0, 3.0]), np.array([[2, 2], [3, 3]]))
    assert buffer.frame("h", 0, 9).values.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_infinities_become_gaps() -> None:
    buffer = Buffer(100)
    buffer.add("fast", AB, np.array([1.0]), np.array([[np.inf, -np.inf]]))
    assert np.isnan(buffer.frame("h", 0, 9).values).all()


def test_memory_is_bounded_in_time() -> None:
    buffer = Buffer(10)
    for time_s in range(1000):
        add(buffer, "fast", (A,), time_s, time_s + 0.5)
    assert buffer.oldest_s() > 900
    assert len(buffer.frame("h", 0, 1000).times_s) < 200


def test_forgetting_leaves_what_is_newer_and_the_newest_of_each_lane() -> None:
    buffer = Buffer(1e9)
    add(buffer, "slow", (C,), 1)
    for start in range(0, 1000, 100):
        add(buffer, "fast", (A,), *range(start, start + 100))
    buffer.forget(900)
    frame = buffer.frame("h", 0, 1000)
    assert set(frame.times_s[1:]) >= set(range(900, 1000))
    assert len(frame.times_s) < 202
    assert frame.times_s[0] == 1


def test_empty_buffer_gives_an_empty_frame() -> None:
    buffer = Buffer(10)
    frame = buffer.frame("h", 0, 9)
    assert (frame.values.shape, frame.columns) == ((0, 0), ())
    assert np.isnan([buffer.newest_s(), buffer.oldest_s()]).all()


def test_times_that_do_not_increase_are_refused() -> None:
    with pytest.raises(AssertionError, match="must increase"):
        add(Buffer(10), "fast", (A,), 2, 1)


@given(
    st.lists(st.tuples(st.sampled_from(["fast", "slow"]), st.sampled_from([AB, BC]), st.integers(1, 80)), max_size=12),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_frame_equals_a_table_built_sample_by_sample(
    parts: list[tuple[str, tuple[Series, ...], int]], start: int, span: int
) -> None:
    buffer, newest = Buffer(1e9), {"fast": 0, "slow": 0}
    samples: dict[tuple[float, Series], list[float]] = {}
    for lane, columns, count in parts:
        times_s = [float(newest[lane] + 1 + number) for number in range(count)]
        newest[lane] += count
        values = rows(times_s, len(columns)) + (lane == "slow") / 2
        buffer.add(lane, columns, np.array(times_s), values)
        for time_s, row in zip(times_s, values, strict=True):
            for series, value in zip(columns, row, strict=True):
                samples.setdefault((time_s, series), []).append(value)
    frame = buffer.frame("h", start, start + span)
    inside = {key: found for key, found in samples.items() if start < key[0] <= start + span}
    assert frame.times_s.tolist() == sorted({time_s for time_s, _ in inside})
    for row, time_s in enumerate(frame.times_s):
        for column, series in enumerate(frame.columns):
            value, expected = frame.values[row, column], inside.get((time_s, series), [])
            assert value in expected if expected else np.isnan(value)
