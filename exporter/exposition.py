"""The text that Prometheus scrapes. A template is prepared once for a layout; a scrape only formats numbers.

Text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
OpenMetrics 1.0: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from math import nan
from operator import itemgetter

from catalog.family import Family, Kind, Unit
from catalog.series import Series
from exporter.ring import Schema

_UNITLESS = {Unit.COUNT, Unit.BOOLEAN, Unit.ENUM, Unit.NONE, Unit.PAGES}
_TEMPLATES_KEPT = 16


class Format(Enum):
    """The two formats, by their Content-Type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


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


@dataclass(slots=True)
class _Template:
    """Text in pieces: what stands before a value, the value, and so on. ``there`` are the values that it was made for.

    Numbers that are what they were at the last scrape (most are) need not be formatted again.
    """

    there: list[bool]
    pieces: list[str]
    pick: Callable[[list[float]], tuple[float, ...]]
    values: tuple[float, ...]
    texts: list[str]

    def render(self, values: list[float]) -> bytes:
        now = self.pick(values)
        self.texts = [
            text if value == before else _number(value)
            for value, before, text in zip(now, self.values, self.texts, strict=True)
        ]
        self.values = now
        self.pieces[1::2] = self.texts
        return "".join(self.pieces).encode()


def _prepare(columns: Sequence[Series], there: list[bool], families: Mapping[str, Family], form: Format) -> _Template:
    by_family: dict[str, list[int]] = {}
    for index, series in enumerate(columns):
        if there[index] and series.name in families:
            by_family.setdefault(series.name, []).append(index)
    pieces: list[str] = []
    line_end = ""
    for name, indices in by_family.items():
        head = _head(families[name], form)
        for index in indices:
            pieces += (f"{line_end}{head}{columns[index]} ", "")
            line_end, head = "\n", ""
    pieces.append(line_end + ("# EOF\n" if form is Format.OPENMETRICS else ""))
    order = list(chain.from_iterable(by_family.values()))
    return _Template(there, pieces, _picker(order), (nan,) * len(order), [""] * len(order))


def _picker(order: list[int]) -> Callable[[list[float]], tuple[float, ...]]:
    if len(order) > 1:
        return itemgetter(*order)
    return lambda values: tuple(values[index] for index in order)


class Exposition:
    """Renders rows. Families are known by name; ``collectors`` says which families each collector has."""

    def __init__(self, collectors: Mapping[str, Iterable[Family]]) -> None:
        self.collectors = {name: {family.name: family for family in families} for name, families in collectors.items()}
        self._templates: dict[tuple[object, ...], _Template] = {}

    def render(
        self, rows: Sequence[tuple[Schema, Sequence[float]]], form: Format, only: frozenset[str] | None = None
    ) -> bytes:
        """The exposition of rows (time first), values that are NaN left out, of all collectors or of ``only`` some."""
        values = [value for _, row in rows for value in row[1:]]
        there = [value == value for value in values]  # false for NaN alone, and much faster than isnan
        schemas = tuple(schema for schema, _ in rows)
        key = (*schemas, form, only)
        template = self._templates.get(key)
        if template is None or template.there != there:
            columns = [series for schema in schemas for series in schema.columns]
            template = _prepare(columns, there, self._families(only), form)
            self._remember(key, template)
        return template.render(values)

    def _families(self, only: frozenset[str] | None) -> dict[str, Family]:
        chosen = self.collectors if only is None else only
        return {name: family for collector in chosen for name, family in self.collectors[collector].items()}

    def _remember(self, key: tuple[object, ...], template: _Template) -> None:
        self._templates.pop(key, None)
        while len(self._templates) >= _TEMPLATES_KEPT:
            del self._templates[next(iter(self._templates))]
        self._templates[key] = template
