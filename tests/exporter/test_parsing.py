"""Values are found by their keys, whatever else is in a file, and a changed layout never gives a wrong label."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.families import memory, network, storage
from exporter.parsing import HeadedLines, KeyedWords, NamedRows, cpus_of, numbers, pick
from tests.properties import PROPERTY

FREE, DIRTY = memory.FREE_BYTES(), memory.DIRTY_BYTES()
SENT, RESENT = network.TCP_SENT_SEGMENTS(), network.TCP_RETRANSMITTED_SEGMENTS()
COLUMNS = {1: (storage.READS_COMPLETED, 1.0), 2: (storage.READ_BYTES, 512.0)}


def _keyed() -> KeyedWords:
    return KeyedWords({b"Free:": FREE, b"Dirty:": DIRTY}, "/proc/x", {b"Free:": 1024.0})


def _rows(*widths: int) -> NamedRows:
    return NamedRows(
        COLUMNS,
        "/proc/x",
        name_at=0,
        keeps=lambda name: name != "loop0",
        fits=lambda width: not widths or width in widths,
    )


def test_impossible_numbers_are_missing() -> None:
    values = numbers([b"1", b"-1", b"1e400", b"nan", b"18446744073709551616", b"2"], "/proc/x")
    assert values[0] == 1.0
    assert values[-1] == 2.0
    assert all(map(math.isnan, values[1:-1]))


def test_largest_counter_is_possible() -> None:
    assert numbers([b"18446744073709549568"], "/proc/x") == [18446744073709549568.0]


def test_word_that_is_no_number_is_named_with_its_file() -> None:
    with pytest.raises(ValueError, match=r"/proc/x: b'kB' is not a number"):
        numbers([b"1", b"kB"], "/proc/x")


@given(st.lists(st.integers(0, 9), max_size=5))
@PROPERTY
def test_pick_picks_any_number_of_words(indexes: list[int]) -> None:
    words = [bytes((65 + index,)) for index in range(10)]
    assert list(pick(indexes)(words)) == [words[index] for index in indexes]


def test_list_of_cpus_is_expanded() -> None:
    assert cpus_of(b"0,2-4,8\n", "/x") == {0, 2, 3, 4, 8}
    assert cpus_of(b"5\n", "/x") == {5}


@pytest.mark.parametrize("text", [b"", b"a", b"1-", b"-3", b"3-1", b"0-99999999999", b"\xff"])
def test_what_is_no_list_of_cpus_is_refused_with_its_file(text: bytes) -> None:
    with pytest.raises(ValueError, match="/sys/x"):
        cpus_of(text, "/sys/x")


def test_keyed_words_are_found_between_others_and_scaled() -> None:
    words = _keyed()
    assert words(b"Total: 9 kB\nFree: 2 kB\nDirty: 3\n") == [2048.0, 3.0]
    assert words.series == (FREE, DIRTY)


def test_keyed_words_keep_their_layout_while_the_keys_stay() -> None:
    words = _keyed()
    words(b"Free: 2\nDirty: 3\n")
    before = words.series
    assert words(b"Free: 4\nDirty: 5\n") == [4096.0, 5.0]
    assert words.series is before


def test_keyed_words_follow_a_new_layout() -> None:
    words = _keyed()
    words(b"Free: 2\nDirty: 3\n")
    assert words(b"Dirty: 3\nFree: 2\n") == [2048.0, 3.0], "keys changed places"
    assert words(b"Dirty: 7\nNew: 1\n") == [7.0], "same length, other keys"
    assert words.series == (DIRTY,)
    assert words(b"New: 1\nFree: 2\nDirty: 3\n") == [2048.0, 3.0]


@pytest.mark.parametrize("data", [b"", b"\n", b"Free:", b"Other: 1\n", b"Free: x\n", b"\0\xff\n"])
def test_keyed_words_refuse_what_they_cannot_read_and_go_on(data: bytes) -> None:
    words = _keyed()
    words(b"Free: 2\nDirty: 3\n")
    with pytest.raises(ValueError, match="/proc/x"):
        words(data)
    assert words(b"Free: 4\nDirty: 5\n") == [4096.0, 5.0]


def test_headed_lines_take_values_from_below_their_headings() -> None:
    lines = HeadedLines({b"Tcp.OutSegs": SENT, b"Tcp.RetransSegs": RESENT}, "/proc/x")
    assert lines(b"Ip: OutSegs\nIp: 9\nTcp: InSegs OutSegs RetransSegs\nTcp: 1 2 3\n") == [2.0, 3.0]
    assert lines(b"Tcp: RetransSegs OutSegs\nTcp: 3 2\n") == [2.0, 3.0], "fields changed places"
    assert lines(b"Tcp: InSegs OutSegs\nTcp: 1 2\n") == [2.0]
    assert lines.series == (SENT,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Tcp: OutSegs\n",
        b"Tcp: OutSegs\nTcp: 1 2\n",
        b"Tcp: OutSegs\nUdp: 1\n",
        b"Tcp: OutSegs\nTcp: 1\nTcp: OutSegs\nTcp: 2\n",
        b"Udp: InErrors\nUdp: 1\n",
        b"Tcp: OutSegs\nTcp: x\n",
    ],
)
def test_headed_lines_refuse_values_that_do_not_fit(data: bytes) -> None:
    lines = HeadedLines({b"Tcp.OutSegs": SENT}, "/proc/x")
    with pytest.raises(ValueError, match="/proc/x"):
        lines(data)
    assert lines(b"Tcp: OutSegs\nTcp: 5\n") == [5.0]


def test_named_rows_go_by_column_and_leave_unwanted_devices_out() -> None:
    rows = _rows()
    assert rows(b"sda 1 2\nloop0 5 6\nsdb 3 4\n") == [1.0, 3.0, 1024.0, 2048.0]
    assert rows.series == (
        storage.READS_COMPLETED("sda"),
        storage.READS_COMPLETED("sdb"),
        storage.READ_BYTES("sda"),
        storage.READ_BYTES("sdb"),
    )


def test_named_rows_follow_devices_that_come_go_and_change_places() -> None:
    rows = _rows()
    rows(b"sda 1 2\nsdb 3 4\n")
    assert rows(b"sdb 3 4\nsda 1 2\n") == [3.0, 1.0, 2048.0, 1024.0]
    assert [series.label("device") for series in rows.series] == ["sdb", "sda", "sdb", "sda"]
    assert rows(b"sdb 3 4\n") == [3.0, 2048.0]
    assert rows(b"") == []
    assert rows.series == ()


def test_named_rows_may_differ_in_width() -> None:
    rows = _rows()
    assert rows(b"sda 1\nsdb 3 4\n") == [1.0, 3.0, 2048.0]
    assert rows.series[-1] == storage.READ_BYTES("sdb")


@pytest.mark.parametrize("data", [b"sda 1 2\nsda 3 4\n", b"sda 1\n", b"sda 1 2\n\n", b"sda 1 x\n"])
def test_named_rows_refuse_what_would_mislead_and_go_on(data: bytes) -> None:
    rows = _rows(3)
    for _ in range(2):
        with pytest.raises(ValueError, match="/proc/x"):
            rows(data)
    assert rows(b"sda 1 2\n") == [1.0, 1024.0]
