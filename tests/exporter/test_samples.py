from __future__ import annotations

import json
import re
import struct
from math import isnan, nan
from pathlib import Path

import numpy
from hypothesis import given
from hypothesis import strategies as st

from catalog import FAMILIES
from catalog.family import Tier
from catalog.series import Series
from detector.samples import decode
from exporter.ring import Ring, Schema
from exporter.samples import Origin, encode

_PAGE = Path(__file__).parents[2] / "docs" / "samples-api.md"
_ORIGIN = Origin("b00t", "node1", 1_700_000_000.25, -3600.5)


def _ring(rows: int, width: int = 2) -> Ring:
    ring = Ring(1e9, 1 << 30)
    fast = Schema(Tier.FAST, 0.1, tuple(Series("f", (("n", str(n)),)) for n in range(width)))
    slow = Schema(Tier.SLOW, 15.0, (Series("s", (("q", 'a "b"\\\n'),)),))
    static = Schema(Tier.STATIC, 0.0, (Series("i"),))
    ring.append([(static, [0.0, 1.0])])
    for row in range(1, rows + 1):
        ring.append([(fast, [row / 8, *map(float, range(row, row + width))])])
        if row % 3 == 0:
            ring.append([(slow, [row / 8, nan])])
    return ring


@given(rows=st.integers(0, 150), width=st.integers(0, 5), since=st.integers(-1, 160))
def test_what_was_sampled_comes_back_as_it_was(rows: int, width: int, since: int) -> None:
    body = encode(_ring(rows, width).since(since / 8), _ORIGIN, ())
    header, tables = decode(body, {})
    by_tier = {segment.tier: table for segment, table in zip(header.segments, tables, strict=True)}
    expected = [row for row in range(1, rows + 1) if row > since]
    times, values = by_tier.get("fast", ([], []))
    assert [time * 8 for time in times] == expected
    assert [list(row) for row in values] == [[float(row + n) for n in range(width)] for row in expected]
    slow = [row for row in expected if row % 3 == 0]
    times, values = by_tier.get("slow", ([], []))
    assert [time * 8 for time in times] == slow
    assert all(isnan(row[0]) for row in values)


def test_header_says_whose_samples_and_what_the_columns_are() -> None:
    body = encode(_ring(3).since(0.0), _ORIGIN, ())
    (length,) = struct.unpack_from("<I", body, 4)
    header = json.loads(body[8 : 8 + length])
    assert body[:4] == b"HPS1"
    assert (8 + length) % 8 == 0
    assert {key: header[key] for key in ("boot", "now_s", "wall_offset_s", "instance")} == {
        "boot": "b00t", "now_s": 1_700_000_000.25, "wall_offset_s": -3600.5, "instance": "node1",
    }  # fmt: skip
    fast, slow = header["segments"]
    assert (fast["tier"], fast["interval_s"], fast["rows"], fast["columns"]) == (
        "fast",
        0.1,
        3,
        ['f{n="0"}', 'f{n="1"}'],
    )
    assert (slow["tier"], slow["interval_s"], slow["rows"]) == ("slow", 15.0, 1)
    assert slow["columns"] == ['s{q="a \\"b\\"\\\\\\n"}']


def test_columns_that_the_client_knows_are_not_sent_again() -> None:
    segments = _ring(3).since(0.0)
    digests = {str(segment.schema.tier): segment.schema.digest for segment in segments}
    header, tables = decode(encode(segments, _ORIGIN, {digests["fast"]}), {digests["fast"]: 2})
    assert [(segment.tier, segment.columns is None) for segment in header.segments] == [("fast", True), ("slow", False)]
    assert tables[0][1].shape == (3, 2)


def test_nothing_new_is_a_header_alone() -> None:
    header, tables = decode(encode(_ring(3).since(99.0), _ORIGIN, ()), {})
    assert (header.segments, tables) == ((), [])


def test_change_of_schema_gives_two_segments_in_order_of_age() -> None:
    ring = Ring(1e9, 1 << 20)
    one, two = Schema(Tier.FAST, 0.1, (Series("a"),)), Schema(Tier.FAST, 0.1, (Series("a"), Series("b")))
    ring.append([(one, [1.0, 10.0])])
    ring.append([(two, [2.0, 11.0, 21.0])])
    header, tables = decode(encode(ring.since(0.0), _ORIGIN, ()), {})
    assert [segment.columns for segment in header.segments] == [("a",), ("a", "b")]
    assert [table[0].tolist() for table in tables] == [[1.0], [2.0]]
    assert tables[1][1].tolist() == [[11.0, 21.0]]


def test_page_about_the_format_decodes_what_is_sent_and_names_real_families() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    snippet = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert snippet is not None
    names = {"body": encode(_ring(3).since(0.0), _ORIGIN, ()), "struct": struct, "json": json, "numpy": numpy}
    exec(snippet[1], names)
    last = names["rows"]
    assert isinstance(last, numpy.ndarray)
    assert last.shape == (1, 2)
    assert last[0][0] == 3 / 8
    assert set(re.findall(r"hostpulse_\w+", page)) <= set(FAMILIES)
