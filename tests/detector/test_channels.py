"""Counters become rates and gauges levels, on the time axis of the frame, whatever is missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import SIGNALS
from catalog.families import cpu, host, memory, storage
from catalog.series import Series
from detector.channels import FrameOperands, differences, evaluate, held, interval, previous_sample, rates
from detector.frame import Floats, Frame
from tests.detector import naive
from tests.detector.arrays import tables, times_s
from tests.properties import PROPERTY

COUNTS = st.integers(0, 5).map(float)


def _frame(columns: dict[Series, list[float]], interval_s: float = 0.1) -> Frame:
    values = np.array(list(columns.values()), dtype=np.float64).T
    return Frame("h", 100.0 + interval_s * np.arange(len(values), dtype=np.float64), values, tuple(columns))


def _channel(frame: Frame, name: str) -> list[float]:
    channels = evaluate(frame)
    values: list[float] = channels.values[:, [str(c) for c in channels.channels].index(name)].tolist()
    return values


@PROPERTY
@given(tables(COUNTS))
def test_previous_sample_is_that_of_the_naive_loop(values: Floats) -> None:
    valid = ~np.isnan(values)
    for column in range(valid.shape[1]):
        assert previous_sample(valid)[:, column].tolist() == naive.previous_sample(valid[:, column])


@PROPERTY
@given(tables())
def test_differences_are_those_of_the_naive_loop(values: Floats) -> None:
    times = times_s(len(values))
    change, elapsed = differences(times, values)
    for column in range(values.shape[1]):
        expected = naive.differences(times, values[:, column])
        assert np.array_equal([change[:, column], elapsed[:, column]], expected, equal_nan=True)


@PROPERTY
@given(tables(COUNTS), st.floats(0.01, 1.0))
def test_rates_are_those_of_the_naive_loop_and_never_negative(values: Floats, longest_s: float) -> None:
    times = times_s(len(values))
    found = rates(times, values, longest_s)
    for column in range(values.shape[1]):
        assert np.array_equal(found[:, column], naive.rates(times, values[:, column], longest_s), equal_nan=True)
    assert not (found < 0).any()
    assert not np.isinf(found).any()


@PROPERTY
@given(tables(COUNTS), st.floats(0, 1))
def test_held_values_are_those_of_the_naive_loop(values: Floats, hold_s: float) -> None:
    times = times_s(len(values))
    found = held(times, values, hold_s)
    for column in range(values.shape[1]):
        assert np.array_equal(found[:, column], naive.held(times, values[:, column], hold_s), equal_nan=True)


def test_no_rows_give_no_values() -> None:
    empty = np.empty((0, 2))
    assert previous_sample(empty > 0).shape == rates(np.empty(0), empty, 1.0).shape == (0, 2)
    assert held(np.empty(0), empty, 1.0).shape == (0, 2)


def test_reset_counter_gives_no_negative_and_no_giant_rate() -> None:
    found = rates(np.arange(5.0), np.array([[10.0], [12.0], [1.0], [3.0], [5.0]]), 1.0)
    assert np.array_equal(found[:, 0], [np.nan, 2.0, np.nan, 2.0, 2.0], equal_nan=True)


def test_lost_sample_is_bridged_and_a_gap_is_not() -> None:
    counter = np.array([10.0, np.nan, 14.0, *[np.nan] * 5, 90.0, 92.0, 94.0])
    rate = _channel(_frame({host.FORKS(): counter.tolist()}), "cpu_forks_per_second")
    assert np.allclose(rate[2:5], 20.0)
    assert np.isnan(rate[6:9]).all()
    assert np.allclose(rate[9:], 20.0)


@pytest.mark.parametrize(
    ("rows", "expected"), [([0, 1, 2, 3, 9], 0.1), ([0, 3, 6, 9], 0.3), ([4], 0.0), ([], 0.0), ([0, 2, 4, 9], 0.2)]
)
def test_interval_is_that_of_the_rows_with_a_sample(rows: list[int], expected: float) -> None:
    values = np.full((10, 2), np.nan)
    values[rows, np.arange(len(rows)) % 2] = 1.0
    assert np.isclose(interval(0.1 * np.arange(10, dtype=np.float64), values), expected)


def test_source_that_was_demoted_to_a_slower_tier_is_held_between_its_samples() -> None:
    forks = np.full(51, np.nan)  # of the tier of 100 ms, sampled once a second
    forks[::10] = np.arange(6.0)
    frame = _frame({host.FORKS(): forks.tolist(), host.CONTEXT_SWITCHES(): [float(i) for i in range(51)]})
    assert np.allclose(_channel(frame, "cpu_forks_per_second")[10:], 1.0)


def test_slow_series_is_held_until_its_next_sample_and_then_no_longer() -> None:
    interrupts = [0.0, *[np.nan] * 9, 500.0, *[np.nan] * 40]  # of the one second tier, on a 100 ms grid
    frame = _frame({cpu.INTERRUPTS(0): interrupts, host.CONTEXT_SWITCHES(): [float(i) for i in range(51)]})
    rate = _channel(frame, "cpu_interrupts_per_second")
    assert np.isnan(rate[:10]).all()
    assert np.allclose(rate[10:35], 500.0)
    assert np.isnan(rate[36:]).all()


def test_constant_counter_has_rate_zero_and_is_not_missing() -> None:
    assert _channel(_frame({host.FORKS(): [7.0] * 4}), "cpu_forks_per_second")[1:] == [0.0] * 3


def test_cpu_that_misses_is_left_out_of_the_mean() -> None:
    seconds = [0.0, 0.05, 0.10, 0.15]
    frame = _frame({cpu.SECONDS(0, "user"): seconds, cpu.SECONDS(1, "user"): [np.nan] * 4})
    assert np.allclose(_channel(frame, "cpu_user_ratio")[1:], 0.5)


def test_division_by_zero_is_missing_and_not_infinite() -> None:
    frame = _frame({memory.AVAILABLE_BYTES(): [1.0, 1.0], memory.TOTAL_BYTES(): [0.0, 2.0]})
    assert np.array_equal(_channel(frame, "memory_available_ratio"), [np.nan, 0.5], equal_nan=True)


def test_channels_are_those_that_the_frame_has_data_for() -> None:
    frame = _frame({storage.READ_BYTES("sda"): [0.0, 1.0], storage.READ_BYTES("sdb"): [0.0, 1.0]})
    assert [str(channel) for channel in evaluate(frame).channels] == [
        'storage_read_bytes_per_second{device="sda"}',
        'storage_read_bytes_per_second{device="sdb"}',
    ]
    assert evaluate(Frame("h", np.array([1.0]), np.empty((1, 0)), ())).values.shape == (1, 0)


@pytest.mark.parametrize("interval_s", [0.1, 1.0, 15.0])
@pytest.mark.parametrize("first_row", [0, 1, 77, 105, 299])
def test_first_row_cuts_values_off_and_changes_none(interval_s: float, first_row: int) -> None:
    chance = np.random.default_rng(0)
    columns = {memory.PAGE_FAULTS(): 1e4, cpu.SECONDS(0, "iowait"): 1.0, memory.DIRTY_BYTES(): 1e6}
    frame = _frame({series: list(size * np.cumsum(chance.random(300))) for series, size in columns.items()}, interval_s)
    frame.values[chance.random(frame.values.shape) < 0.1] = np.nan
    frame.values[80:84] *= 0.99
    frame.values[150:] *= 0.1
    part = evaluate(frame, first_row=first_row)
    assert np.array_equal(part.values, evaluate(frame).values[first_row:], equal_nan=True)
    assert np.array_equal(part.times_s, frame.times_s[first_row:])


def test_rows_before_the_first_are_only_looked_back_on() -> None:
    frame = _frame({host.FORKS(): [0.0, 0.1, 0.3, 0.6]})
    whole, part = evaluate(frame), evaluate(frame, first_row=2)
    assert np.array_equal(part.times_s, whole.times_s[2:])
    assert np.array_equal(part.values, whole.values[2:])


@pytest.mark.parametrize(
    ("operator", "reference"),
    [("sum", np.nansum), ("avg", np.nanmean), ("max", np.nanmax), ("min", np.nanmin), ("stddev", np.nanstd)],
)
def test_aggregates_leave_gaps_out(operator: str, reference: object) -> None:
    assert callable(reference)
    arrays = [np.array([1.0, 2.0, np.nan]), np.array([5.0, np.nan, np.nan]), np.array([3.0, -4.0, np.nan])]
    found = FrameOperands(_frame({host.FORKS(): [0.0]})).aggregate(operator, arrays)
    assert np.allclose(found[:2], reference(np.stack(arrays)[:, :2], axis=0))
    assert np.isnan(found[2])


def test_unknown_aggregate_is_refused() -> None:
    with pytest.raises(AssertionError, match="no aggregation median"):
        FrameOperands(_frame({host.FORKS(): [0.0]})).aggregate("median", [np.zeros(1)])


@PROPERTY
@given(tables(st.floats(0, 1e300), rows=(1, 8), columns=(6, 6)))
def test_gaps_and_garbage_never_give_infinities(values: Floats) -> None:
    columns = (
        memory.AVAILABLE_BYTES(),
        memory.TOTAL_BYTES(),
        storage.WRITE_TIME_SECONDS("sda"),
        storage.WRITES_COMPLETED("sda"),
        cpu.INTERRUPTS(0),
        cpu.INTERRUPTS(1),
    )
    channels = evaluate(Frame("h", times_s(len(values)), values, columns), SIGNALS.values())
    assert not np.isinf(channels.values).any()
    assert len(channels.channels) == 5
