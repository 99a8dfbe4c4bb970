"""Ways to spoil a file, each named, the same ones each time: what is lost, what is impossible, what is out of place."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

_NUMBER = re.compile(rb"(?<![\w.+-])\d+(?:\.\d+)?(?![\w.+-])")
LARGEST = b"18446744073709551615"
IMPOSSIBLE = (LARGEST, b"9" * 30, b"-9000000000", b"nan", b"1e999")
_MISPLACED = (b"x", b"\xff\xfe", b"")
_NOBODY = 65534


@dataclass(frozen=True)
class Spoilt:
    """Other contents for a file, and how they differ from those that it had."""

    how: str
    data: bytes


def cuts(data: bytes) -> Iterator[Spoilt]:
    """The file up to somewhere, lines and numbers cut in two."""
    chance = random.Random(len(data))
    ends = {*range(min(4, len(data))), max(0, len(data) - 1), max(0, len(data) - 2)}
    ends |= {chance.randrange(len(data)) for _ in range(8) if data}
    for end in sorted(ends):
        yield Spoilt(f"cut to {end} of {len(data)} bytes", data[:end])


def shortened(data: bytes) -> Iterator[Spoilt]:
    """The file up to the end of a line, and without one of its lines."""
    lines = data.splitlines(keepends=True)
    for at in _some(range(len(lines))):
        yield Spoilt(f"ends before line {at}", b"".join(lines[:at]))
        yield Spoilt(f"without line {at}", b"".join(lines[:at] + lines[at + 1 :]))


def impossible(data: bytes) -> Iterator[Spoilt]:
    """One number that no count can be."""
    for match in _some(list(_NUMBER.finditer(data))):
        for text in IMPOSSIBLE:
            how = f"{text[:24].decode()} instead of {match[0].decode()} at byte {match.start()}"
            yield Spoilt(how, data[: match.start()] + text + data[match.end() :])


def misplaced(data: bytes) -> Iterator[Spoilt]:
    """Words that are no numbers or are missing, lines that are longer or twice there."""
    for match in _some(list(_NUMBER.finditer(data))):
        for text in _MISPLACED:
            how = f"{text!r} instead of {match[0].decode()} at byte {match.start()}"
            yield Spoilt(how, data[: match.start()] + text + data[match.end() :])
    lines = data.splitlines(keepends=True)
    longer = [line.rstrip(b"\n") + b" 17\n" for line in lines]
    for at in _some(range(len(lines))):
        yield Spoilt(f"line {at} longer", b"".join([*lines[:at], longer[at], *lines[at + 1 :]]))
        yield Spoilt(f"line {at} twice", b"".join(lines[: at + 1] + lines[at:]))
    yield Spoilt("all lines longer", b"".join(longer))
    yield Spoilt("all lines twice", data + data)


def nonsense(data: bytes) -> Iterator[Spoilt]:
    """What is no text of the kernel's at all."""
    yield Spoilt("binary", bytes(range(256)) * 4)
    yield Spoilt("zeros", bytes(len(data)))
    yield Spoilt("blank", b" \n\n ")
    yield Spoilt("one long line", b"7" * 100_000)


def _some(things: Sequence[T]) -> Sequence[T]:
    """The first, one in the middle and the last."""
    return [things[at] for at in sorted({0, len(things) // 2, len(things) - 1})] if things else []


@contextmanager
def contents(place: Path, data: bytes) -> Iterator[None]:
    """Other contents for a while; the file stays the same one, as those of the kernel do."""
    original = place.read_bytes()
    place.write_bytes(data)
    try:
        yield
    finally:
        place.write_bytes(original)


@contextmanager
def _moved(place: Path) -> Iterator[None]:
    aside = place.with_name(f"{place.name}.aside")
    place.rename(aside)
    try:
        yield
    finally:
        aside.rename(place)


@contextmanager
def missing(place: Path) -> Iterator[None]:
    """Nothing there for a while."""
    with _moved(place):
        yield


@contextmanager
def directory(place: Path) -> Iterator[None]:
    """A directory in its place for a while."""
    with _moved(place):
        place.mkdir()
        try:
            yield
        finally:
            place.rmdir()


@contextmanager
def loop(place: Path) -> Iterator[None]:
    """A link to itself in its place for a while, which cannot be opened."""
    with _moved(place):
        place.symlink_to(place.name)
        try:
            yield
        finally:
            place.unlink()


@contextmanager
def refused(place: Path) -> Iterator[None]:
    """A file that nobody may read for a while, and us without root's right to read it all the same."""
    mode = place.stat().st_mode
    place.chmod(0)
    ours = os.geteuid()
    try:
        if ours == 0:
            os.seteuid(_NOBODY)
        yield
    finally:
        os.seteuid(ours)
        place.chmod(mode)


def edits() -> st.SearchStrategy[Callable[[bytes], bytes]]:
    """Any way to cut a file, patch it, drop a line or write it twice, widen a line; for what is drawn by chance."""
    place = st.floats(0, 1)
    patches = [b"", b"-7", b"9" * 30, b"1e999", b"nan", b"\0\xff\xfe", b"x", b"\n", b" ", b"cpu0", b":", b"a\nb"]

    def cut(at: float) -> Callable[[bytes], bytes]:
        return lambda data: data[: int(at * len(data))]

    def patch(at: float, length: int, text: bytes) -> Callable[[bytes], bytes]:
        return lambda data: data[: int(at * len(data))] + text + data[int(at * len(data)) + length :]

    def line(at: float, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        def edit(data: bytes) -> bytes:
            rows = data.splitlines(keepends=True) or [b""]
            index = min(int(at * len(rows)), len(rows) - 1)
            return b"".join([*rows[:index], change(rows[index]), *rows[index + 1 :]])

        return edit

    changes = [lambda row: b"", lambda row: row + row, lambda row: row.rstrip(b"\n") + b" 17\n"]
    return st.one_of(
        st.builds(cut, place),
        st.builds(patch, place, st.integers(0, 40), st.sampled_from(patches) | st.binary(max_size=12)),
        st.builds(line, place, st.sampled_from(changes)),
        st.binary(max_size=300).map(lambda text: lambda _: text),
    )
