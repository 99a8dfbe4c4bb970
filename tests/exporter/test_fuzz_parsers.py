"""Parsers find what a file says whatever else it says, and what they saw before does not change what they see."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.families import cpu, memory, network, storage
from catalog.series import Series
from exporter.collector import FileCollector, discover
from exporter.collectors.filesystem import mounts
from exporter.host import Host
from exporter.parsing import HeadedLines, KeyedWords, NamedRows, Parser, cpu_numbers, cpus_of, numbers
from tests.exporter.spoiling import edits
from tests.hosts import captured_vm, context
from tests.hosts.hardware import hardware
from tests.properties import PROPERTY

KEYS = {b"Free:": memory.FREE_BYTES(), b"Dirty:": memory.DIRTY_BYTES(), b"Cached:": memory.CACHED_BYTES()}
FIELDS = {
    b"Tcp.OutSegs": network.TCP_SENT_SEGMENTS(),
    b"Tcp.InSegs": network.TCP_RECEIVED_SEGMENTS(),
    b"Udp.InErrors": network.UDP_RECEIVE_ERRORS(),
}
COLUMNS = {1: (storage.READS_COMPLETED, 1.0), 3: (storage.READ_BYTES, 512.0)}
COUNTS = st.integers(0, 2**63)
WORDS = st.sampled_from([b"Total:", b"Slab:", b"Writeback:"]) | st.sampled_from(list(KEYS))
TABLES = st.dictionaries(WORDS, COUNTS, min_size=1)
PLACES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
GROUPS = st.sampled_from([b"Tcp", b"Udp", b"Icmp"])
NAMES = st.sampled_from(["sda", "sdb", "nvme0n1", "md0", "loop0"])


def _told(parse: Parser, data: bytes) -> dict[Series, float] | None:
    """Values by series; None where the parser refuses."""
    try:
        values = parse(data)
    except ValueError:
        return None
    assert len(values) == len(parse.series) == len({*parse.series})
    return dict(zip(parse.series, values, strict=True))


@given(st.lists(TABLES, min_size=1, max_size=4), st.sampled_from([b"", b" kB"]))
@PROPERTY
def test_keyed_words_say_what_stands_behind_their_keys(tables: list[dict[bytes, int]], unit: bytes) -> None:
    parse = KeyedWords(KEYS, "/proc/x", {b"Free:": 1024.0})
    for table in tables:
        data = b"".join(b"%s %d%s\n" % (key, count, unit) for key, count in table.items())
        wanted = {KEYS[key]: float(count) for key, count in table.items() if key in KEYS}
        if b"Free:" in table:
            wanted[KEYS[b"Free:"]] *= 1024.0
        assert _told(parse, data) == (wanted or None)


@given(
    st.lists(
        st.dictionaries(GROUPS, st.permutations([b"OutSegs", b"InSegs", b"InErrors"])),
        min_size=1,
        max_size=4,
    ),
)
@PROPERTY
def test_headed_lines_say_what_stands_below_their_headings(files: list[dict[bytes, list[bytes]]]) -> None:
    parse = HeadedLines(FIELDS, "/proc/x")
    for number, groups in enumerate(files):
        data = b""
        wanted: dict[Series, float] = {}
        for at, (group, fields) in enumerate(groups.items()):
            counts = [100 * number + 10 * at + column for column in range(len(fields))]
            data += b"%s: %s\n" % (group, b" ".join(fields))
            data += b"%s: %s\n" % (group, b" ".join(b"%d" % count for count in counts))
            told = {group + b"." + field: float(count) for field, count in zip(fields, counts, strict=True)}
            wanted |= {FIELDS[key]: count for key, count in told.items() if key in FIELDS}
        assert _told(parse, data) == (wanted or None)


@given(st.lists(st.dictionaries(NAMES, st.lists(COUNTS, min_size=1, max_size=4)), min_size=1, max_size=4))
@PROPERTY
def test_named_rows_say_what_stands_in_the_row_of_a_name(files: list[dict[str, list[int]]]) -> None:
    parse = NamedRows(COLUMNS, "/proc/x", name_at=0, keeps=lambda name: name != "loop0", fits=lambda width: True)
    for rows in files:
        data = b"".join(b"%s %s\n" % (name.encode(), b" ".join(b"%d" % n for n in row)) for name, row in rows.items())
        wanted = {
            family(name): row[column - 1] * factor
            for name, row in rows.items()
            for column, (family, factor) in COLUMNS.items()
            if column <= len(row) and name != "loop0"
        }
        assert _told(parse, data) == pytest.approx(wanted)


@given(st.lists(st.binary(min_size=1, max_size=30)))
@PROPERTY
def test_numbers_are_possible_or_missing(words: list[bytes]) -> None:
    try:
        values = numbers(words, "/proc/x")
    except ValueError:
        with pytest.raises(ValueError, match="could not convert"):
            list(map(float, words))
        return
    for word, value in zip(words, values, strict=True):
        assert math.isnan(value) or (value == float(word) and 0.0 <= value < 2.0**64)


@given(st.sets(st.integers(0, 300), min_size=1))
@PROPERTY
def test_list_of_cpus_names_those_that_it_was_written_from(cpus: set[int]) -> None:
    ranges: list[list[int]] = []
    for number in sorted(cpus):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    text = ",".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ranges)
    assert cpus_of(f"{text}\n".encode(), "/x") == cpus
    assert cpu_numbers([b"cpu%d" % number for number in cpus], b"cpu", "/x") == list(cpus)


@pytest.mark.parametrize(
    "names", [[b"cpu0", b"cpu00"], [b"cpu1", b"cpu1"], [b"cpu-1"], [b"cpu"], [b"CPU1"], [b"cpu99999"]]
)
def test_what_numbers_no_cpu_or_one_twice_is_refused(names: list[bytes]) -> None:
    with pytest.raises(ValueError, match="/proc/x"):
        cpu_numbers(names, b"cpu", "/proc/x")


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12), min_size=1, unique=True
    )
)
@PROPERTY
def test_mounts_are_found_whatever_their_names_hold(names: list[str]) -> None:
    def escaped(name: str) -> str:
        return "".join(f"\\{ord(char):03o}" if char in " \t\n\\#" else char for char in name)

    rows = [f"{at} 1 8:{at} / /data/{escaped(name)} rw - ext4 /dev/{at} rw\n" for at, name in enumerate(names)]
    assert {mount.mountpoint for mount in mounts("".join(rows))} == {f"/data/{name}" for name in names}


@given(st.text(max_size=200).filter(lambda text: " - " not in text))
@PROPERTY
def test_text_that_lists_no_mounts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="mountinfo"):
        mounts(text)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    return [make(tmp_path_factory.mktemp(make.__name__)) for make in (captured_vm, hardware)]


KINDS = {name: kind for name, kind in discover().items() if issubclass(kind, FileCollector)}


@pytest.mark.parametrize("name", KINDS)
@settings(PROPERTY, max_examples=40)
@given(changes=st.lists(edits(), min_size=1, max_size=3))
def test_what_was_read_before_does_not_change_what_is_read(
    name: str, changes: list[Callable[[bytes], bytes]], hosts: Sequence[Host]
) -> None:
    kind = KINDS[name]
    host = next(host for host in hosts if Path(host.locate(kind.path)).is_file())
    original = host.read(kind.path)
    held = kind(context(host))
    for change in changes:
        fresh = kind(context(host))
        # One parser has seen many contents, the other one only the first.
        assert _agree(_told(_Held(held), change(original)), _told(_Held(fresh), change(original)))
        fresh.close()
    held.close()


class _Held:
    """A collector as a parser."""

    def __init__(self, collector: FileCollector) -> None:
        self._collector = collector
        self.series = collector.series

    def __call__(self, data: bytes, /) -> list[float]:
        values = list(self._collector.parse(data))
        self.series = self._collector.series
        return values


def _agree(one: dict[Series, float] | None, other: dict[Series, float] | None) -> bool:
    if one is None or other is None:
        return one is other
    return list(one) == list(other) and all(
        math.isclose(value, other[series], rel_tol=1e-9)
        or (math.isnan(value) and math.isnan(other[series]))
        or _goes_on(series)
        for series, value in one.items()
    )


def _goes_on(series: Series) -> bool:
    """Whether it stands still where the kernel's count falls, and so is of what was read before as well."""
    idle = series.name == cpu.SECONDS.name and series.label("mode") in ("idle", "iowait")
    return idle or series.name in (cpu.INTERRUPTS.name, cpu.INTERRUPTS_BY_CLASS.name)
