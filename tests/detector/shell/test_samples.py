"""Decoding the exporter's samples: what is cut off or made up is refused with words that say where."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.samples import SamplesError, decode
from tests.detector.shell.scripted import Tier, encode


@pytest.fixture
def body() -> bytes:
    fast = Tier("fast", 0.1, ("a", "b"), [(1.0, 10, 11), (1.1, 12, float("nan"))])
    return encode([fast, Tier("slow", 15.0, ("c",), [(1.1, 7)])])


def test_segments_come_back_as_they_were(body: bytes) -> None:
    header, tables = decode(body, {})
    assert [(segment.tier, segment.rows, segment.columns) for segment in header.segments] == [
        ("fast", 2, ("a", "b")),
        ("slow", 1, ("c",)),
    ]
    np.testing.assert_array_equal(tables[0][0], [1.0, 1.1])
    np.testing.assert_array_equal(tables[0][1], [[10, 11], [12, np.nan]])
    np.testing.assert_array_equal(tables[1][1], [[7]])


@given(st.integers(0, 10_000))
def test_answer_cut_off_anywhere_is_refused(cut: int) -> None:
    whole = encode([Tier("fast", 0.1, ("a",), [(1.0, 10), (1.1, 12)])])
    with pytest.raises(SamplesError):
        decode(whole[: cut % len(whole)], {})


def test_longer_answer_is_refused(body: bytes) -> None:
    with pytest.raises(SamplesError, match="too long"):
        decode(body + bytes(8), {})


def test_something_else_is_refused() -> None:
    with pytest.raises(SamplesError, match="is this a hostpulse exporter"):
        decode(b"<html><body>It works!</body></html>", {})


def test_schema_without_columns_must_be_known() -> None:
    tier = Tier("fast", 0.1, ("a",), [(1.0, 10)])
    without = encode([tier], known=[tier.digest])
    assert decode(without, {tier.digest: 1})[1][0][1].tolist() == [[10]]
    with pytest.raises(SamplesError, match=tier.digest):
        decode(without, {})


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("boot", "", "boot"), ("now_s", None, "now_s"), ("segments", [{"tier": "fast"}], "segments.0.schema")],
)
def test_bad_header_is_refused_by_its_field(field: str, value: object, named: str) -> None:
    good = {"boot": "x", "now_s": 1.0, "wall_offset_s": 0.0, "instance": "n", "segments": []}
    text = json.dumps(good | {field: value}).encode()
    with pytest.raises(SamplesError, match=named):
        decode(b"HPS1" + struct.pack("<I", len(text)) + text, {})


@pytest.mark.parametrize("times_s", [(2.0, 1.0), (1.0, 1.0), (1.0, float("nan"))])
def test_times_that_do_not_increase_are_refused(times_s: tuple[float, float]) -> None:
    body = encode([Tier("fast", 0.1, ("a",), [(1.0, 0), (2.0, 0)])])
    table = struct.pack("<4d", times_s[0], 0, times_s[1], 0)
    with pytest.raises(SamplesError, match="do not increase"):
        decode(body[: -len(table)] + table, {})
