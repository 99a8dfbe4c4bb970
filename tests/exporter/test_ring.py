from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.family import Tier
from catalog.series import Series
from exporter.ring import Ring, Schema, Segment

_A, _B, _C = Series("a"), Series("b", (("x", "1"),)), Series("c")


def _schema(*columns: Series, tier: Tier = Tier.FAST) -> Schema:
    return Schema(tier, 0.1, columns)


def _rows(segment: Segment) -> list[list[float]]:
    flat = [value for piece in segment.pieces for value in piece]
    width = segment.schema.width
    return [flat[start : start + width] for start in range(0, len(flat), width)]


@given(st.integers(0, 300), st.floats(-5, 320), st.lists(st.integers(0, 300), max_size=4))
def test_rows_after_a_time_are_those_of_a_plain_list(count: int, since_s: float, changes: list[int]) -> None:
    ring, plain = Ring(1e9, 1 << 30), []
    schemas = {0: _schema(_A, _B)}
    schema = schemas[0]
    for row in range(count):
        if row in changes:
            schema = _schema(_A, _B)
        ring.append([(schema, [float(row), row * 2.0, row * 3.0])])
        plain.append([float(row), row * 2.0, row * 3.0])
    segments = ring.since(since_s)
    assert [row for segment in segments for row in _rows(segment)] == [row for row in plain if row[0] > since_s]
    assert sum(segment.rows for segment in segments) == sum(row[0] > since_s for row in plain)
    assert ring.rows(Tier.FAST) == count


def test_rows_older_than_the_duration_give_way_in_whole_chunks() -> None:
    ring, schema = Ring(10.0, 1 << 30), _schema(_A)
    for row in range(1000):
        ring.append([(schema, [row / 10, 0.0])])
    kept = [row[0] for segment in ring.since(-1.0) for row in _rows(segment)]
    assert kept[-1] == 99.9
    assert 89.9 - 6.4 < kept[0] <= 89.9
    assert all(later - earlier == pytest.approx(0.1) for earlier, later in pairwise(kept))


def test_memory_is_bounded_and_the_oldest_of_all_tiers_gives_way() -> None:
    ring = Ring(1e9, 200_000)
    fast, slow = _schema(*[_A] * 9), _schema(*[_A] * 9, tier=Tier.SLOW)
    for row in range(20_000):
        ring.append([(fast, [float(row), *[0.0] * 9])])
        if row % 150 == 0:
            ring.append([(slow, [float(row), *[0.0] * 9])])
    sizes = {segment.schema.tier: segment for segment in ring.since(-1.0)}
    assert sum(8 * sum(map(len, segment.pieces)) for segment in sizes.values()) <= 200_000
    assert sizes[Tier.FAST].rows > 2000
    assert _rows(sizes[Tier.SLOW])[-1][0] == 19_950.0


def test_newest_row_of_a_tier_stays_however_old_it_gets() -> None:
    ring = Ring(1.0, 1 << 20)
    constant = Schema(Tier.STATIC, 0.0, (_C,))
    ring.append([(constant, [0.0, 7.0])])
    for row in range(1000):
        ring.append([(_schema(_A), [float(row), 1.0])])
    assert [list(row) for schema, row in ring.newest() if schema is constant] == [[0.0, 7.0]]
    assert [row[0] for schema, row in ring.newest() if schema is not constant] == [999.0]


def test_schema_change_starts_a_segment_and_keeps_the_older_rows() -> None:
    ring, before, after = Ring(1e9, 1 << 30), _schema(_A), _schema(_A, _B)
    ring.append([(before, [1.0, 10.0])])
    ring.append([(after, [2.0, 10.0, 20.0])])
    segments = ring.since(0.0)
    assert [(segment.schema, _rows(segment)) for segment in segments] == [
        (before, [[1.0, 10.0]]),
        (after, [[2.0, 10.0, 20.0]]),
    ]
    assert before.digest != after.digest


def test_digest_depends_on_tier_and_columns_alone() -> None:
    assert _schema(_A, _B).digest == _schema(_A, _B).digest
    others = [_schema(_A), _schema(_B, _A), _schema(_A, _B, tier=Tier.SLOW), Schema(Tier.FAST, 1.0, (_A, _B))]
    assert len({schema.digest for schema in (*others, _schema(_A, _B))}) == 5


def test_what_a_reader_got_does_not_change_under_it() -> None:
    ring, schema = Ring(1e9, 1 << 30), _schema(_A)
    ring.append([(schema, [1.0, 10.0])])
    read = ring.since(0.0)
    for row in range(2, 200):
        ring.append([(schema, [float(row), 0.0])])
    assert [_rows(segment) for segment in read] == [[[1.0, 10.0]]]


def test_row_of_another_width_is_an_error_in_the_program() -> None:
    with pytest.raises(AssertionError, match="2 values in a fast row of 3"):
        Ring(1.0, 1 << 20).append([(_schema(_A, _B), [1.0, 2.0])])
