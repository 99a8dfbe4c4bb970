"""When which window is judged."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector import schedule

STRIDES = st.sampled_from([0.1, 0.5, 1.0, 5.0, 15.0, 60.0])
TIMES = st.floats(1e9, 2e9)


@pytest.mark.parametrize(
    ("interval_s", "window_s", "stride_s"),
    [(0.1, 3.0, 1.0), (1.0, 3.0, 1.0), (1.0004, 3.0, 1.0), (2.0, 6.0, 2.0), (15.0, 45.0, 15.0), (60.01, 180.0, 60.0)],
)
def test_window_widens_to_three_samples(interval_s: float, window_s: float, stride_s: float) -> None:
    assert schedule.widened(3.0, 1.0, interval_s) == pytest.approx((window_s, stride_s))


@given(st.floats(0.01, 600), st.floats(0.2, 600), st.floats(0.05, 1))
def test_widened_window_never_shrinks_and_never_leaves_gaps(interval_s: float, window_s: float, part: float) -> None:
    wide, stride = schedule.widened(window_s, part * window_s, interval_s)
    assert wide >= window_s
    assert stride >= part * window_s
    assert wide >= stride


@given(TIMES, st.floats(0, 10_000), STRIDES, st.floats(1, 200), st.floats(60, 3600))
def test_pending_windows_lie_inside_what_there_is(
    oldest_s: float, span_s: float, stride_s: float, window_s: float, reach_s: float
) -> None:
    complete_s = oldest_s + span_s
    pending = schedule.pending(0, oldest_s, complete_s, window_s, stride_s, reach_s)
    tolerance_s = 1e-6 * stride_s
    if pending.count:
        assert pending.first * stride_s - window_s >= oldest_s - tolerance_s
        assert pending.last * stride_s <= complete_s + tolerance_s
        assert pending.last * stride_s > complete_s - stride_s - tolerance_s
        assert (pending.last - pending.first) * stride_s <= reach_s + tolerance_s


def test_nothing_is_pending_before_the_next_window_is_complete() -> None:
    pending = schedule.pending(101, 0.0, 100.99, 3.0, 1.0, 600.0)
    assert (pending.count, pending.skipped) == (0, 0)


def test_windows_out_of_reach_are_skipped() -> None:
    pending = schedule.pending(100, 0.0, 2000.0, 3.0, 1.0, 600.0)
    assert (pending.first, pending.last, pending.skipped) == (1400, 2000, 1300)


def test_boundary_that_floating_point_put_past_its_multiple_counts() -> None:
    assert schedule.last_number(0.1 + 0.2, 0.1) == 3
    assert schedule.last_number(math.nextafter(3.0, 0), 1.0) == 3


def test_retries_are_quick_at_first_and_then_one_a_stride() -> None:
    waits_s = [schedule.wait_s(-0.1, 1.0, misses, succeeded=False) for misses in range(8)]
    assert waits_s[0] == schedule.RETRY_S
    assert waits_s == sorted(waits_s)
    assert waits_s[-1] == 1.0


def test_source_that_is_always_late_is_asked_twice_a_stride() -> None:
    assert schedule.wait_s(-30.0, 1.0, 0, succeeded=True) == 0.5
    assert schedule.wait_s(0.7, 1.0, 0, succeeded=True) == 0.7
