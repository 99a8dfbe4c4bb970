"""The training memory is bounded, keeps stretches of time, and forgets evenly."""

from __future__ import annotations

import numpy as np

from detector import training as module
from detector.frame import Floats
from detector.training import BLOCK_ROWS, MOST_BLOCKS, Training, align

START_S = 1.8e9
NAMES = ("a", "b")
WIDE = 300


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
    names = tuple(map(str, range(WIDE)))
    training = _fill(Training(), 100 * BLOCK_ROWS, names=names)
    assert training.rows == len(training.table()[0]) == MOST_BLOCKS * BLOCK_ROWS
    assert _fill(training, BLOCK_ROWS - 1, START_S + 1e5, names).rows < (MOST_BLOCKS + 1) * BLOCK_ROWS


def test_blocks_hold_consecutive_windows() -> None:
    training = _fill(Training(), 60 * BLOCK_ROWS, names=tuple(map(str, range(WIDE))))
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


def _starts(blocks: int, stride_s: float, width: int = 2) -> Floats:
    """When the blocks that are kept began, in blocks of a host that was watched for so many."""
    training = Training()
    for number in range(blocks):
        for row in range(BLOCK_ROWS):
            end_s = START_S + (number * BLOCK_ROWS + row) * stride_s
            training = training.add(end_s, _row(number, width), tuple(map(str, range(width))), stride_s)
    return np.array([block.x[0, 0] for block in training.blocks])


def test_memory_covers_all_that_was_seen_evenly() -> None:
    starts = _starts(150, 1.0, WIDE)
    assert (len(starts), starts[0], starts[-1]) == (MOST_BLOCKS, 0.0, 149.0)
    assert np.diff(starts)[:-1].max() <= 3 * np.diff(starts)[:-1].min()


def test_baseline_follows_a_host_that_is_watched_for_days() -> None:
    """Of a host that is judged once a minute, ten memories are covered."""
    blocks = 2 * module.HORIZON_MEMORIES * MOST_BLOCKS
    starts = _starts(blocks, 60.0, WIDE)
    assert starts[0] >= blocks - module.HORIZON_MEMORIES * MOST_BLOCKS - 1
    assert np.diff(starts)[:-1].max() <= 3 * module.HORIZON_MEMORIES


def test_host_with_few_features_remembers_more_windows() -> None:
    assert _fill(Training(), 4 * BLOCK_ROWS).most_blocks == module.MOST_TIMES * MOST_BLOCKS
    assert len(_starts(60, 1.0, 80)) == module.MOST_VALUES // (BLOCK_ROWS * 80) == 50
    missing = Training().add(START_S, np.full(3, np.nan, dtype=np.float32), ("a", "b", "c"), 1.0)
    assert _fill(missing, BLOCK_ROWS).most_blocks == module.MOST_TIMES * MOST_BLOCKS


def test_columns_are_aligned_by_name() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert align(x, ("a", "b"), ("a", "b")) is x
    aligned = align(x, ("a", "b"), ("b", "c"))
    assert aligned[:, 0].tolist() == [2.0, 4.0]
    assert np.isnan(aligned[:, 1]).all()
    assert align(np.empty((0, 0)), (), ("a",)).shape == (0, 1)


def test_windows_of_an_episode_are_told_from_the_others() -> None:
    rows = tuple((START_S + 100.0 + number, _row(7)) for number in range(BLOCK_ROWS + 5))
    training = _fill(_fill(Training(), 30).add_flagged(rows, NAMES, 1.0), 10, START_S + 500.0)
    ends_s, x, _ = training.table()
    assert training.rows == len(ends_s) == 30 + len(rows) + 10
    assert training.calm_rows == 40
    assert np.array_equal(training.flagged(), (ends_s >= START_S + 100.0) & (ends_s < START_S + 500.0))
    assert np.array_equal(x[training.flagged(), 0], [7.0] * len(rows))


def test_windows_of_episodes_are_forgotten_like_all_others() -> None:
    training = Training()
    for number in range(3 * MOST_BLOCKS * module.MOST_TIMES):
        rows = tuple((START_S + number * BLOCK_ROWS + row, _row(number)) for row in range(BLOCK_ROWS))
        training = training.add_flagged(rows, NAMES, 1.0)
    most = training.most_blocks // (module.LEAST_CALM + 1)
    assert (len(training.blocks), training.calm_rows) == (most, 0)
    newest = 3 * MOST_BLOCKS * module.MOST_TIMES - 1
    assert [block.x[0, 0] for block in training.blocks] == list(range(newest - most + 1, newest + 1))
    mixed = _fill(training, 200 * BLOCK_ROWS, START_S + 1e5)
    assert sum(block.flagged for block in mixed.blocks) <= most
    assert mixed.calm_rows >= module.LEAST_CALM * (mixed.rows - mixed.calm_rows)


def test_empty_memory_gives_an_empty_table() -> None:
    ends_s, x, names = Training().table()
    assert (ends_s.shape, x.shape, names, Training().rows) == ((0,), (0, 0), (), 0)
    assert len(Training().flagged()) == 0
