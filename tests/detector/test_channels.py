"""Counters become rates and gauges levels, on the time axis of the frame, whatever is missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import SIGNALS
from catalog.families import cpu, host, memory, storage
from catalog.series import Series
from detector.channels import FrameOperands, differences, evaluate, held, previous_sample, rates
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
@given(tables(COUNTS))
def test_rates_are_those_of_the_naive_loop_and_never_negative(values: Floats) -> None:
    times = times_s(len(values))
    found = rates(times, values)
    for column in range(values.shape[1]):
        assert np.array_equal(found[:, column], naive.rates(times, values[:, column]), equal_nan=True)
    assert not (found < 0).any()
    assert not np.isinf(found).any()


@PROPERTY
@given(tables(COUNTS), st.floats(0, 1))
def test_held_values_are_those_of_the_naive_loop(values: Floats, hold_s: float) -> None:
    times = times_s(len(values))
    found = held(times, values, np.full(values.shape[1], hold_s))
    for column in range(values.shape[1]):
        assert np.array_equal(found[:, column], naive.held(times, values[:, column], hold_s), equal_nan=True)


def test_no_rows_give_no_values() -> None:
    empty = np.empty((0, 2))
    assert previous_sample(empty > 0).shape == rates(np.empty(0), empty).shape == (0, 2)
    assert held(np.empty(0), empty, np.ones(2)).shape == (0, 2)


def test_reset_counter_gives_no_negative_and_no_giant_rate() -> None:
    found = rates(np.arange(5.0), np.array([[10.0], [12.0], [1.0], [3.0], [5.0]]))
    assert np.array_equal(found[:, 0], [np.nan, 2.0, np.nan, 2.0, 2.0], equal_nan=True)


def test_rate_over_a_gap_is_the_mean_over_the_gap() -> None:
    found = rates(np.arange(5.0), np.array([[10.0], [np.nan], [np.nan], [16.0], [18.0]]))
    assert found[3:, 0].tolist() == [2.0, 2.0]


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
