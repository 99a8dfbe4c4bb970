"""Numbers in the kernel's text files, found once and read fast as long as the layout stays the same.

Each class learns from a file where the wanted words stand, and afterwards only checks that the keys are still there
before it converts the values. When the layout changes it learns again and binds a new tuple to ``series``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter

from catalog.family import Family
from catalog.series import Series
from exporter.host import HeldFile

Words = Sequence[bytes]
_COUNTER_LIMIT = 2.0**64


def numbers(words: Iterable[bytes], path: str) -> list[float]:
    """The words as numbers; NaN for what no count can be: negative, or beyond 64 bits.

    Raises ValueError that names the file and the word.

    >>> numbers([b"12", b"-1"], "/proc/stat")
    [12.0, nan]
    """
    words = list(words)
    try:
        values = list(map(float, words))
    except ValueError:
        raise ValueError(f"{path}: {_first_bad(words)!r} is not a number") from None
    if values and not (min(values) >= 0.0 and max(values) < _COUNTER_LIMIT):
        return [value if 0.0 <= value < _COUNTER_LIMIT else math.nan for value in values]
    return values


def _first_bad(words: Iterable[bytes]) -> bytes:
    for word in words:
        try:
            float(word)
        except ValueError:
            return word[:40]
    raise AssertionError("called for words of which one is bad")


def pick(indexes: Sequence[int]) -> Callable[[Words], Words]:
    """A function that picks these words, as ``itemgetter`` does for two and more."""
    if not indexes:
        return lambda words: words[:0]
    if len(indexes) == 1:
        (index,) = indexes
        return lambda words: words[index : index + 1]
    return itemgetter(*indexes)


def whole_lines(data: bytes, path: str) -> bytes:
    """The data, or ValueError where it does not end with a line: it was cut, and so may be its last number."""
    if data[-1:] != b"\n":
        raise ValueError(f"{path}: is empty or ends within a line")
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
        words = whole_lines(data, self._path).split()
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
        self._keys_of = pick([position[key] for key in keys])
        self._values_of = pick([position[key] + 1 for key in keys])
        self._keys, self._length = self._keys_of(words), len(words)
        self._scaled = tuple((index, self._factors[key]) for index, key in enumerate(keys) if key in self._factors)
        self.series = tuple(self._wanted[key] for key in keys)


class KeyedFiles:
    """Several files of keyed words, one after the other: one for each NUMA node, say."""

    def __init__(self, files: Iterable[tuple[HeldFile, KeyedWords]]) -> None:
        self.series: tuple[Series, ...] = ()
        self._files = tuple(files)
        self._layout: list[tuple[Series, ...]] = []

    def read(self) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards."""
        values: list[float] = []
        for file, words in self._files:
            values += words(file.read())
        layout = [words.series for _, words in self._files]
        if layout != self._layout:
            self._layout = layout
            self.series = tuple(series for part in layout for series in part)
        return values

    def close(self) -> None:
        """Close all files."""
        for file, _ in self._files:
            file.close()


class NamedRows:
    """Rows of equal width, each with the name of a device and a number for each column.

    ``columns`` maps the place of a number in its row to its family and to what turns the kernel's unit into ours;
    ``keeps`` says which names are wanted. Columns beyond the width of an older kernel's rows are left out.
    """

    def __init__(
        self, columns: Mapping[int, tuple[Family, float]], path: str, *, name_at: int, keeps: Callable[[str], bool]
    ) -> None:
        self.series: tuple[Series, ...] = ()
        self._columns, self._path, self._name_at, self._keeps = columns, path, name_at, keeps
        self._length, self._width = -1, 1
        self._names: Words = ()
        self._values_of = pick(())
        self._factors: tuple[float, ...] = ()

    def __call__(self, rows: bytes) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards; ValueError for another format."""
        words = rows.split()
        if len(words) != self._length or words[self._name_at :: self._width] != self._names:
            self._learn(rows, words)
        values = numbers(self._values_of(words), self._path)
        return [value * factor for value, factor in zip(values, self._factors, strict=True)]

    def _learn(self, rows: bytes, words: list[bytes]) -> None:
        widths = {len(row.split()) for row in rows.splitlines()}
        if len(widths) != 1 or (width := widths.pop()) <= self._name_at:
            raise ValueError(f"{self._path}: its rows have different numbers of columns")
        names = words[self._name_at :: width]
        if len(set(names)) != len(names):
            raise ValueError(f"{self._path}: names a device twice")
        kept = [(row, name.decode("utf-8", "replace")) for row, name in enumerate(names)]
        kept = [(row, name) for row, name in kept if self._keeps(name)]
        cells = [
            (row * width + column, factor, family(name))
            for column, (family, factor) in self._columns.items()
            if column < width
            for row, name in kept
        ]
        self._values_of = pick([index for index, _, _ in cells])
        self._factors = tuple(factor for _, factor, _ in cells)
        self._length, self._width, self._names = len(words), width, names
        self.series = tuple(series for _, _, series in cells)
