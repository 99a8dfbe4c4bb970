"""Readings of perf groups, made up byte by byte: what a PMU that is shared among groups would say."""

from __future__ import annotations

import struct
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.perfscale import Scaled
from tests.properties import PROPERTY

_MS = 1_000_000


def _reading(enabled_ms: float, running_ms: float, *counts: int) -> bytes:
    times = (round(enabled_ms * _MS), round(running_ms * _MS))
    return struct.pack(f"={3 + len(counts)}Q", len(counts), *times, *counts)


def test_group_that_is_always_counted_gives_its_counts_to_the_last_digit() -> None:
    scaled = Scaled(2)
    big = 2**52 + 1
    assert scaled(_reading(100, 100, big, 7)) == [float(big), 7.0]
    assert scaled(_reading(200, 200, big + 1, 7)) == [float(big + 1), 7.0]
    assert scaled.running_ratio == 1.0


def test_delta_of_each_tick_is_scaled_by_the_times_of_that_tick() -> None:
    scaled = Scaled(1)
    assert scaled(_reading(100, 50, 1000)) == [2000.0]
    assert scaled(_reading(200, 75, 1100)) == [2000.0 + 100 * 4]
    assert scaled.running_ratio == 0.25
    assert scaled(_reading(300, 175, 1600)) == [2400.0 + 500]


def test_group_that_was_not_counted_is_missing_and_made_up_for_later() -> None:
    scaled = Scaled(1)
    assert scaled(_reading(100, 100, 1000)) == [1000.0]
    assert isnan(scaled(_reading(200, 100, 1000))[0])
    assert scaled.running_ratio == 0.0
    assert scaled(_reading(300, 200, 2000)) == [1000.0 + 1000 * 2], "100 ms counted stand for 200 ms"


def test_group_that_never_ran_is_missing_and_never_zero() -> None:
    scaled = Scaled(3)
    assert all(isnan(value) for tick in range(5) for value in scaled(_reading(100 * tick, 0, 0, 0, 0)))


@pytest.mark.parametrize("data", [b"", b"\0" * 31, b"\0" * 40], ids=["given up", "too short", "too long"])
def test_reading_of_another_length_is_missing_and_changes_nothing(data: bytes) -> None:
    scaled = Scaled(1)
    scaled(_reading(100, 100, 5))
    assert isnan(scaled(data)[0])
    assert isnan(scaled.running_ratio)
    assert scaled(_reading(200, 200, 9)) == [9.0]


@settings(PROPERTY)
@given(
    ticks=st.lists(
        st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 2**40)), min_size=1, max_size=30
    )
)
def test_totals_never_fall_and_lose_nothing_that_was_counted(ticks: list[tuple[int, int, int]]) -> None:
    scaled, enabled, running, count, before = Scaled(1), 0, 0, 0, 0.0
    for idle_ns, run_ns, more in ticks:
        enabled, running = enabled + idle_ns + run_ns, running + run_ns
        count += more if run_ns else 0
        (total,) = scaled(struct.pack("=4Q", 1, enabled, running, count))
        if not isnan(total):
            assert total >= before
            assert total >= count * (1 - 1e-12)
            before = total
