"""The text that Prometheus scrapes. It is kept from scrape to scrape, and only numbers that changed are formatted.

Text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
OpenMetrics 1.0: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import chain, compress
from operator import itemgetter, ne

from catalog.family import Family, Kind, Unit
from exporter.ring import Schema

_UNITLESS = {Unit.COUNT, Unit.BOOLEAN, Unit.ENUM, Unit.NONE, Unit.PAGES}
_BLOCKS_KEPT = 64


class Format(Enum):
    """The two formats, by their Content-Type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@lru_cache(maxsize=64)
def accepted(accept: str) -> Format:
    """The format that an Accept header prefers; text where it says nothing that we have.

    >>> accepted("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1").name
    'OPENMETRICS'
    """
    best, best_quality = Format.TEXT, 0.0
    for entry in accept.split(","):
        media, *parameters = (part.strip() for part in entry.lower().split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        quality = _quality(given.get("q", "1"))
        if media == "application/openmetrics-text" and given.get("version", "1.0.0") == "1.0.0":
            offered = Format.OPENMETRICS
        elif media in ("text/plain", "text/*", "*/*"):
            offered = Format.TEXT
        else:
            continue
        if quality > best_quality:
            best, best_quality = offered, quality
    return best


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _head(family: Family, form: Format) -> str:
    """HELP, TYPE and, in OpenMetrics, UNIT."""
    name, kind = family.name, str(family.kind)
    unit = ""
    if form is Format.OPENMETRICS:
        name = name.removesuffix("_total").removesuffix("_info")
        if family.unit not in _UNITLESS:
            unit = f"# UNIT {name} {family.unit}\n"
    elif family.kind is Kind.INFO:
        kind = "gauge"
    return f"# HELP {name} {_escape_help(family.help)}\n# TYPE {name} {kind}\n{unit}"


def _number(value: float) -> str:
    """The shortest text that reads as exactly this double; whole numbers without a fraction.

    >>> _number(3.0), _number(0.1), _number(1e300)
    ('3', '0.1', '1e+300')
    """
    return str(int(value)) if -1e16 < value < 1e16 and value.is_integer() else repr(value)


class _Block:
    """The text of one tier's rows. What a row has in common with the one before (most of it) is not written again.

    A family has one collector and a collector one tier, so that no family is in two blocks.
    """

    def __init__(self, schema: Schema, families: Mapping[str, Family], form: Format) -> None:
        by_family: dict[str, list[int]] = {}
        for index, series in enumerate(schema.columns):
            if series.name in families:
                by_family.setdefault(series.name, []).append(index)
        indexes = list(chain.from_iterable(by_family.values()))
        self._series = [schema.columns[index] for index in indexes]
        self._heads = {name: _head(families[name], form) for name in by_family}
        self._pick = _picker([1 + index for index in indexes])  # the first element of a row is its time
        self._row = b""
        self._values: Sequence[float] = ()
        self._starts: list[str] = []
        self._lines: list[str] = []
        self._text = b""

    def render(self, row: array[float]) -> bytes:
        """The lines of a row."""
        taken = row.tobytes()
        if taken != self._row:
            values = self._pick(row)
            if not self._rewrite(values):
                self._write(values)
            self._row, self._values = taken, values
            self._text = "".join(self._lines).encode()
        return self._text

    def _rewrite(self, values: Sequence[float]) -> bool:
        """Write the lines of values that are not what they were; False where one is missing or there unlike before."""
        starts, lines = self._starts, self._lines
        if not starts:
            return False
        for at in compress(range(len(values)), map(ne, values, self._values)):
            value, start = values[at], starts[at]
            missing = value != value  # NaN, which differs from itself
            if missing is not (not start):
                return False
            if not missing:
                lines[at] = f"{start}{_number(value)}\n"
        return True

    def _write(self, values: Sequence[float]) -> None:
        """Write all lines, each family's first one with its head."""
        self._starts, self._lines = [], []
        heads = dict(self._heads)
        for series, value in zip(self._series, values, strict=True):
            start = "" if value != value else f"{heads.pop(series.name, '')}{series} "
            self._starts.append(start)
            self._lines.append(start and f"{start}{_number(value)}\n")


def _picker(order: Sequence[int]) -> Callable[[Sequence[float]], Sequence[float]]:
    if len(order) > 1:
        return itemgetter(*order)
    return lambda row: tuple(row[index] for index in order)


class Exposition:
    """Renders rows. Families are known by name; ``collectors`` says which families each collector has."""

    def __init__(self, collectors: Mapping[str, Iterable[Family]]) -> None:
        self.collectors = {name: {family.name: family for family in families} for name, families in collectors.items()}
        self._blocks: dict[tuple[object, ...], _Block] = {}

    def render(
        self, rows: Sequence[tuple[Schema, array[float]]], form: Format, only: frozenset[str] | None = None
    ) -> bytes:
        """The exposition of rows (time first), values that are NaN left out, of all collectors or of ``only`` some."""
        end = b"# EOF\n" if form is Format.OPENMETRICS else b""
        return b"".join(self._block(schema, form, only).render(row) for schema, row in rows) + end

    def _block(self, schema: Schema, form: Format, only: frozenset[str] | None) -> _Block:
        key = schema, form, only
        block = self._blocks.get(key)
        if block is None:
            while len(self._blocks) >= _BLOCKS_KEPT:
                del self._blocks[next(iter(self._blocks))]
            block = self._blocks[key] = _Block(schema, self._families(only), form)
        return block

    def _families(self, only: frozenset[str] | None) -> dict[str, Family]:
        chosen = self.collectors if only is None else only
        return {name: family for collector in chosen for name, family in self.collectors[collector].items()}
