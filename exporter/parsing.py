"""Numbers in the kernel's text files, found once and read fast as long as the layout stays the same.

Each class learns from a file where the wanted words stand, and afterwards only checks that the keys are still there
before it converts the values. When the layout changes it learns again and binds a new tuple to ``series``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Protocol

from catalog.family import Family
from catalog.series import Series
from exporter.host import HeldFile

Words = Sequence[bytes]
_COUNTER_LIMIT = 2.0**64
_OCTAL = re.compile(r"\\([0-7]{3})")
_CPUS_LIMIT = 1 << 16


def numbers(words: Iterable[bytes], path: str) -> list[float]:
    """The words as numbers; NaN for what no count can be: negative, or beyond 64 bits.

    Raises ValueError that names the file and the word.

    >>> numbers([b"12", b"-1"], "/proc/stat")
    [12.0, nan]
    """
    words = list(words)
    try:
        return plausible(list(map(float, words)))
    except ValueError:
        raise ValueError(f"{path}: {_first_bad(words)!r} is not a number") from None


def plausible(values: list[float], least: float = 0.0) -> list[float]:
    """The values with NaN for what no count can be, or no measurement where ``least`` is below zero."""
    if values and not (min(values) >= least and max(values) < _COUNTER_LIMIT):
        return [value if least <= value < _COUNTER_LIMIT else math.nan for value in values]
    return values


def unescaped(word: str) -> str:
    """The name of a file as it is, of which the kernel writes blanks and backslashes as octal numbers.

    >>> unescaped("/a\\\\040b")
    '/a b'
    """
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), word)


def _first_bad(words: Iterable[bytes]) -> bytes:
    for word in words:
        try:
            float(word)
        except ValueError:
            return word[:40]
    raise AssertionError("called for words of which one is bad")


def cpus_of(data: bytes, path: str) -> frozenset[int]:
    """The CPUs of a list as the kernel writes them; ValueError for another format.

    >>> sorted(cpus_of(b"0-2,5\\n", "/sys/devices/system/cpu/online"))
    [0, 1, 2, 5]
    """
    ranges = (part.partition(b"-") for part in data.split(b","))
    try:
        bounds = [(int(low), int(high if dash else low)) for low, dash, high in ranges]
    except ValueError:
        raise ValueError(f"{path}: {data[:40]!r} is not a list of CPUs") from None
    if any(not 0 <= low <= high < _CPUS_LIMIT for low, high in bounds):
        raise ValueError(f"{path}: {data[:40]!r} has an impossible CPU")
    return frozenset(cpu for low, high in bounds for cpu in range(low, high + 1))


def cpu_numbers(names: Sequence[bytes], prefix: bytes, path: str) -> list[int]:
    """The numbers of CPUs that are called ``prefix`` and a number; ValueError where one is not, or stands twice.

    >>> cpu_numbers([b"cpu0", b"cpu12"], b"cpu", "/proc/stat")
    [0, 12]
    """
    digits = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    if len(digits) != len(names) or not all(word.isdigit() for word in digits):
        raise ValueError(f"{path}: has something else where {prefix.decode()} and a number should be")
    return each_once(map(int, digits), path)


def each_once(cpus: Iterable[int], path: str) -> list[int]:
    """The numbers of CPUs; ValueError where one is impossible, or stands twice."""
    listed = list(cpus)
    if len({*listed}) != len(listed):
        raise ValueError(f"{path}: names a CPU twice")
    if any(not 0 <= number < _CPUS_LIMIT for number in listed):
        raise ValueError(f"{path}: names an impossible CPU")
    return listed


def pick(indexes: Sequence[int]) -> Callable[[Words], Words]:
    """A function that picks these words, as ``itemgetter`` does for two and more."""
    if not indexes:
        return lambda words: words[:0]
    if len(indexes) == 1:
        (index,) = indexes
        return lambda words: words[index : index + 1]
    return itemgetter(*indexes)


def filled(data: bytes, path: str) -> bytes:
    """The data, or ValueError where there is none."""
    if not data or data.isspace():
        raise ValueError(f"{path}: is empty")
    return data


class KeyedWords:
    """Values that stand right behind their keys, as in ``pgfault 12\\npgmajfault 3``.

    ``wanted`` maps keys to series, ``factors`` keys to what turns the kernel's unit into ours. Keys that a kernel does
    not have are left out of ``series``.
    """

    def __init__(self, wanted: Mapping[bytes, Series], path: str, factors: Mapping[bytes, float] | None = None) -> None:
        self.series: tuple[Series, ...] = ()
        self._wanted, self._factors, self._path = wanted, factors or {}, path
        self._length = -1
        self._keys: Words = ()
        self._keys_of = self._values_of = pick(())
        self._scaled: tuple[tuple[int, float], ...] = ()

    def __call__(self, data: bytes) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards; ValueError for another format."""
        words = filled(data, self._path).split()
        if len(words) != self._length or self._keys_of(words) != self._keys:
            self._learn(words)
        values = numbers(self._values_of(words), self._path)
        for index, factor in self._scaled:
            values[index] *= factor
        return values

    def _learn(self, words: list[bytes]) -> None:
        position = {word: index for index, word in reversed(list(enumerate(words[:-1])))}
        keys = [key for key in self._wanted if key in position]
        if not keys:
            raise ValueError(f"{self._path}: has none of the fields wanted")
        # All keys tell the layout, not only those found: one that is missing now may take another's place later.
        self._keys_of = pick([index for index, word in enumerate(words) if not word.isdigit() and word != b"kB"])
        self._values_of = pick([position[key] + 1 for key in keys])
        self._keys, self._length = self._keys_of(words), len(words)
        self._scaled = tuple((index, self._factors[key]) for index, key in enumerate(keys) if key in self._factors)
        self.series = tuple(self._wanted[key] for key in keys)


class HeadedLines:
    """Pairs of lines, a heading and the values below it, each behind the name of its group, as in /proc/net/snmp.

    ``wanted`` maps ``Group.Field`` to series. Fields that a kernel does not have are left out of ``series``.
    """

    def __init__(self, wanted: Mapping[bytes, Series], path: str) -> None:
        self.series: tuple[Series, ...] = ()
        self._wanted, self._path = wanted, path
        self._headings: Words = ()
        self._pairs: tuple[tuple[int, bytes, int, Callable[[Words], Words]], ...] = ()

    def __call__(self, data: bytes) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards; ValueError for another format."""
        lines = filled(data, self._path).split(b"\n")
        # Headings are long and never change: they are compared whole and not taken apart.
        if lines[::2] != self._headings:
            self._learn(lines)
        words: list[bytes] = []
        for at, group, length, values_of in self._pairs:
            row = lines[at].split()
            if len(row) != length or row[0] != group:
                raise ValueError(f"{self._path}: the values of {group!r} do not fit their heading")
            words += values_of(row)
        return numbers(words, self._path)

    def _learn(self, lines: list[bytes]) -> None:
        pairs, found, groups = [], [], set()
        for at in range(1, len(lines), 2):
            group, *fields = lines[at - 1].split() or [b""]
            if group in groups:
                raise ValueError(f"{self._path}: has two headings {group!r}")
            groups.add(group)
            position = {group.rstrip(b":") + b"." + field: index for index, field in enumerate(fields, 1)}
            keys = [key for key in self._wanted if key in position]
            if keys:
                pairs.append((at, group, len(fields) + 1, pick([position[key] for key in keys])))
                found += keys
        if not found:
            raise ValueError(f"{self._path}: has none of the fields wanted")
        self._headings, self._pairs = lines[::2], tuple(pairs)
        self.series = tuple(self._wanted[key] for key in found)


class Parser(Protocol):
    """What turns a file's contents into values with a layout."""

    series: tuple[Series, ...]

    def __call__(self, data: bytes, /) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards; ValueError for another format."""


class ParsedFiles:
    """Several files, one after the other, each with its own parser: one for each NUMA node, say."""

    def __init__(self, files: Iterable[tuple[HeldFile, Parser]]) -> None:
        self.series: tuple[Series, ...] = ()
        self._files = tuple(files)
        self._layout: list[tuple[Series, ...]] = []

    def take(self) -> list[bytes]:
        """The contents of all files."""
        return [file.read() for file, _ in self._files]

    def parse(self, taken: list[bytes]) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards."""
        values: list[float] = []
        for (_, parse), data in zip(self._files, taken, strict=True):
            values += parse(data)
        layout = [parse.series for _, parse in self._files]
        if layout != self._layout:
            self._layout = layout
            self.series = tuple(series for part in layout for series in part)
        return values

    def close(self) -> None:
        """Close all files."""
        for file, _ in self._files:
            file.close()


class NamedRows:
    """Rows of words, each with the name of a device and a number in each column.

    ``columns`` maps the place of a number in its row to its family and to what turns the kernel's unit into ours;
    ``keeps`` says which names are wanted, ``fits`` which numbers of words a row may have: kernels and devices differ.
    Columns that a row does not have are left out.
    """

    def __init__(
        self,
        columns: Mapping[int, tuple[Family, float]],
        path: str,
        *,
        name_at: int,
        keeps: Callable[[str], bool],
        fits: Callable[[int], bool],
    ) -> None:
        self.series: tuple[Series, ...] = ()
        self._columns, self._path, self._name_at, self._keeps, self._fits = columns, path, name_at, keeps, fits
        self._length = -1
        self._names: Words = ()
        self._names_of = self._values_of = pick(())
        self._factors: tuple[float, ...] = ()

    def __call__(self, rows: bytes) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards; ValueError for another format."""
        words = rows.split()
        if len(words) != self._length or self._names_of(words) != self._names:
            self._learn(rows, words)
        values = numbers(self._values_of(words), self._path)
        return [value * factor for value, factor in zip(values, self._factors, strict=True)]

    def _learn(self, rows: bytes, words: list[bytes]) -> None:
        widths = [len(row.split()) for row in rows.splitlines()]
        if not all(width > self._name_at and self._fits(width) for width in widths):
            raise ValueError(f"{self._path}: has a row without the columns that it should have")
        starts = [end - width for width, end in zip(widths, accumulate(widths), strict=True)]
        self._names_of = pick([start + self._name_at for start in starts])
        self._names, self._length = self._names_of(words), len(words)
        if len({*self._names}) != len(self._names):
            self._length = -1
            raise ValueError(f"{self._path}: names a device twice")
        names = list(map(os.fsdecode, self._names))
        cells = [
            (start + column, factor, family(name))
            for column, (family, factor) in self._columns.items()
            for name, start, width in zip(names, starts, widths, strict=True)
            if column < width and self._keeps(name)
        ]
        self._values_of = pick([index for index, _, _ in cells])
        self._factors = tuple(factor for _, factor, _ in cells)
        self.series = tuple(series for _, _, series in cells)
