"""The training memory is bounded, keeps stretches of time, and forgets evenly."""

from __future__ import annotations

import numpy as np
import pytest

from detector import training as module
from detector.training import BLOCK_ROWS, MOST_BLOCKS, Training, align

START_S = 1.8e9
NAMES = ("a", "b")


def _row(number: int, width: int = 2) -> module.Float32s:
    return np.full(width, number, dtype=np.float32)


def _fill(training: Training, count: int, start_s: float = START_S, names: tuple[str, ...] = NAMES) -> Training:
    for number in range(count):
        training = training.add(start_s + number, _row(number, len(names)), names, 1.0)
    return training


def test_few_windows_are_all_kept_in_order() -> None:
    ends_s, x, names = _fill(Training(), 2 * BLOCK_ROWS + 7).table()
    assert names == NAMES
    assert (ends_s - START_S).tolist() == x[:, 0].tolist() == list(range(2 * BLOCK_ROWS + 7))
    assert x.dtype == np.float64


def test_memory_is_bounded_however_long_a_host_is_watched() -> None:
    training = _fill(Training(), 100 * BLOCK_ROWS)
    assert training.rows == len(training.table()[0]) == MOST_BLOCKS * BLOCK_ROWS
    assert _fill(training, BLOCK_ROWS - 1, START_S + 1e5).rows < (MOST_BLOCKS + 1) * BLOCK_ROWS


def test_blocks_hold_consecutive_windows() -> None:
    training = _fill(Training(), 60 * BLOCK_ROWS)
    assert len(training.blocks) == MOST_BLOCKS
    for block in training.blocks:
        assert np.diff(block.end_s).tolist() == [1.0] * (BLOCK_ROWS - 1)
        assert np.array_equal(block.x[:, 0], block.end_s - START_S)


def test_lost_windows_cost_no_memory() -> None:
    training = Training()
    for number in range(60 * BLOCK_ROWS):
        if number % 5:
            training = training.add(START_S + number, _row(number), NAMES, 1.0)
    assert training.rows >= MOST_BLOCKS * BLOCK_ROWS
    assert np.all(np.diff(training.table()[0]) > 0)


def test_new_device_starts_a_new_block_and_older_ones_lack_it() -> None:
    training = _fill(_fill(Training(), 5), 5, START_S + 5.0, ("b", "new", "a"))
    _, x, names = training.table()
    assert names == ("b", "new", "a")
    assert np.isnan(x[:5, 1]).all()
    assert not np.isnan(x[:, [0, 2]]).any()


def test_device_that_left_is_forgotten_in_the_table() -> None:
    training = _fill(_fill(Training(), 5, names=("a", "gone")), 5, START_S + 5.0, ("a",))
    _, x, names = training.table()
    assert (names, x.shape) == (("a",), (10, 1))
    assert not np.isnan(x).any()


def test_replicas_that_saw_the_same_windows_keep_the_same() -> None:
    one, other = _fill(Training(), 70 * BLOCK_ROWS), _fill(Training(), 70 * BLOCK_ROWS)
    assert np.array_equal(one.table()[0], other.table()[0])
    assert np.array_equal(one.table()[1], other.table()[1])


def test_table_is_in_order_of_time_after_much_forgetting() -> None:
    ends_s, x, _ = _fill(Training(), 90 * BLOCK_ROWS).table()
    assert np.all(np.diff(ends_s) > 0)
    assert np.array_equal(x[:, 0], ends_s - START_S)


def _ages(monkeypatch: pytest.MonkeyPatch, blocks: int, stride_s: float) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """How many of the first, second, … quarter of all blocks are kept, over many hosts."""
    monkeypatch.setattr(module, "BLOCK_ROWS", 1)
    kept = np.zeros(4, dtype=np.intp)
    for host in range(150):
        training = Training()
        start_s = START_S + 1e6 * host
        for number in range(blocks):
            training = training.add(start_s + number * stride_s, _row(number), NAMES, stride_s)
        quarter = np.array([block.x[0, 0] for block in training.blocks]) * 4 // blocks
        kept += np.bincount(quarter.astype(np.intp), minlength=4)
    return kept


def test_all_times_have_the_same_chance_to_be_remembered_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = _ages(monkeypatch, 80, 1.0)
    assert kept.sum() == 150 * MOST_BLOCKS
    assert np.all(np.abs(kept / kept.mean() - 1.0) < 0.15)


def test_baseline_follows_a_host_that_is_watched_for_days(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = _ages(monkeypatch, 120, module.HORIZON_S / 40)
    assert kept[3] > 2 * kept[2] > 2 * kept[1] > 2 * kept[0]


def test_columns_are_aligned_by_name() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert align(x, ("a", "b"), ("a", "b")) is x
    aligned = align(x, ("a", "b"), ("b", "c"))
    assert aligned[:, 0].tolist() == [2.0, 4.0]
    assert np.isnan(aligned[:, 1]).all()
    assert align(np.empty((0, 0)), (), ("a",)).shape == (0, 1)


def test_empty_memory_gives_an_empty_table() -> None:
    ends_s, x, names = Training().table()
    assert (ends_s.shape, x.shape, names, Training().rows) == ((0,), (0, 0), (), 0)
