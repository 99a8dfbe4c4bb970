"""Expressions over families: one declaration that renders as PromQL and evaluates on arrays.

A value is a vector in the PromQL sense: label set -> array over time. Arrays come from the caller (``Operands``),
so that this package needs nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from catalog.family import Family, Kind
from catalog.series import Labels

Array = Any  # numpy in the detector; anything with + - * / will do
Vector = dict[Labels, Array]
Render = Callable[[str, Mapping[str, str]], str]
"""A name and the labels it must carry -> the PromQL that reads it."""
Spelling = Callable[[str, Mapping[str, str], Render], str]
"""How a family is read whose labels must match: ``render(family, match)``, or the same under other names."""


def own_names(family: str, match: Mapping[str, str], render: Render) -> str:
    """The family as hostpulse's exporter names it."""
    return render(family, match)


class Operands(Protocol):
    """What an expression needs of the data it is evaluated on."""

    def rate(self, family: str, match: Mapping[str, str]) -> Vector:
        """Per-second increase of the counters of ``family`` whose labels equal ``match``."""

    def level(self, family: str, match: Mapping[str, str]) -> Vector:
        """Values of the gauges of ``family`` whose labels equal ``match``."""

    def slope(self, family: str, match: Mapping[str, str]) -> Vector:
        """Per-second change of the gauges of ``family`` whose labels equal ``match``."""

    def aggregate(self, operator: str, arrays: Sequence[Array]) -> Array:
        """``avg``, ``max``, ``min``, ``sum`` or ``stddev`` (population) across arrays, gaps left out."""

    def clamp_min(self, array: Array, least: float) -> Array:
        """The array with smaller values raised to ``least``."""


class Expression(Protocol):
    """A node of an expression."""

    def promql(self, window: str, selector: str, *, averaged: bool = False, spelling: Spelling = own_names) -> str:
        """PromQL with rates over ``window`` (``5s``) and ``selector`` (``instance="a"`` or empty) in every matcher.

        ``averaged`` makes means over the window of levels too, ``spelling`` chooses the names.
        """

    def evaluate(self, operands: Operands) -> Vector:
        """Label set -> array; a label set missing on either side of an operator is left out, as in PromQL."""

    def families(self) -> frozenset[str]:
        """Names of the families that are read."""


def _matchers(match: Mapping[str, str], selector: str) -> str:
    parts = [f'{label}="{value}"' for label, value in match.items()] + ([selector] if selector else [])
    return "{" + ",".join(parts) + "}" if parts else ""


def _number(value: float) -> str:
    """All digits, unlike ``:g``."""
    return repr(float(value)).removesuffix(".0")


@dataclass(frozen=True, slots=True)
class _Read:
    """A leaf: one family, read as a rate, a level or a slope."""

    family: str
    how: str
    match: tuple[tuple[str, str], ...]

    def promql(self, window: str, selector: str, *, averaged: bool = False, spelling: Spelling = own_names) -> str:
        def render(name: str, match: Mapping[str, str]) -> str:
            vector = name + _matchers(match, selector)
            read = {"rate": "rate", "slope": "deriv"}.get(self.how, "avg_over_time" if averaged else "")
            return f"{read}({vector}[{window}])" if read else vector

        return spelling(self.family, dict(self.match), render)

    def evaluate(self, operands: Operands) -> Vector:
        read: Callable[[str, Mapping[str, str]], Vector] = getattr(operands, self.how)
        return read(self.family, dict(self.match))

    def families(self) -> frozenset[str]:
        return frozenset((self.family,))


@dataclass(frozen=True, slots=True)
class _Aggregate:
    """``avg without (cpu) (…)`` and its kin."""

    operator: str
    over: tuple[str, ...]
    inner: Expression

    def promql(self, window: str, selector: str, *, averaged: bool = False, spelling: Spelling = own_names) -> str:
        inner = self.inner.promql(window, selector, averaged=averaged, spelling=spelling)
        return f"{self.operator} without ({', '.join(self.over)}) ({inner})"

    def evaluate(self, operands: Operands) -> Vector:
        groups: dict[Labels, list[Array]] = {}
        for labels, array in self.inner.evaluate(operands).items():
            groups.setdefault(tuple(pair for pair in labels if pair[0] not in self.over), []).append(array)
        return {labels: operands.aggregate(self.operator, arrays) for labels, arrays in groups.items()}

    def families(self) -> frozenset[str]:
        return self.inner.families()


@dataclass(frozen=True, slots=True)
class _ClampMin:
    inner: Expression
    least: float

    def promql(self, window: str, selector: str, *, averaged: bool = False, spelling: Spelling = own_names) -> str:
        inner = self.inner.promql(window, selector, averaged=averaged, spelling=spelling)
        return f"clamp_min({inner}, {_number(self.least)})"

    def evaluate(self, operands: Operands) -> Vector:
        return {
            labels: operands.clamp_min(array, self.least) for labels, array in self.inner.evaluate(operands).items()
        }

    def families(self) -> frozenset[str]:
        return self.inner.families()


_OPERATORS: dict[str, Callable[[Array, Array], Array]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


@dataclass(frozen=True, slots=True)
class _Binary:
    """Vector by vector with equal label sets; labels of ``ignoring`` do not count."""

    operator: str
    left: Expression
    right: Expression
    ignoring: tuple[str, ...] = ()

    def promql(self, window: str, selector: str, *, averaged: bool = False, spelling: Spelling = own_names) -> str:
        left = self.left.promql(window, selector, averaged=averaged, spelling=spelling)
        right = self.right.promql(window, selector, averaged=averaged, spelling=spelling)
        matching = f" ignoring ({', '.join(self.ignoring)}) " if self.ignoring else " "
        return f"({left} {self.operator}{matching}{right})"

    def evaluate(self, operands: Operands) -> Vector:
        compute = _OPERATORS[self.operator]
        left = self.left.evaluate(operands)
        right = self._by_key(self.right.evaluate(operands))
        return {
            tuple(pair for pair in labels if pair[0] not in self.ignoring): compute(array, right[key][1])
            for key, (labels, array) in self._by_key(left).items()
            if key in right
        }

    def _by_key(self, vector: Vector) -> dict[Labels, tuple[Labels, Array]]:
        """Labels and array by what is matched on; families name the same labels in different orders."""
        found = {
            tuple(sorted(pair for pair in labels if pair[0] not in self.ignoring)): (labels, array)
            for labels, array in vector.items()
        }
        assert len(found) == len(vector), f"{self.families()}: label sets are the same when {self.ignoring} are ignored"
        return found

    def families(self) -> frozenset[str]:
        return self.left.families() | self.right.families()


def _read(family: Family, how: str, match: Mapping[str, str], kind: Kind) -> Expression:
    assert family.kind is kind, f"{family.name} is a {family.kind}; {how} needs a {kind}"
    unknown = set(match) - set(family.labels)
    assert not unknown, f"{family.name} has labels {family.labels}, not {sorted(unknown)}"
    return _Read(family.name, how, tuple(match.items()))


def rate(family: Family, **match: str) -> Expression:
    """Per-second increase of a counter."""
    return _read(family, "rate", match, Kind.COUNTER)


def level(family: Family, **match: str) -> Expression:
    """Value of a gauge."""
    return _read(family, "level", match, Kind.GAUGE)


def slope(family: Family, **match: str) -> Expression:
    """Per-second change of a gauge: how stock gauges (free, cached) enter."""
    return _read(family, "slope", match, Kind.GAUGE)


def mean(inner: Expression, *over: str) -> Expression:
    """Average over the named labels."""
    return _Aggregate("avg", over, inner)


def largest(inner: Expression, *over: str) -> Expression:
    """Maximum over the named labels."""
    return _Aggregate("max", over, inner)


def total(inner: Expression, *over: str) -> Expression:
    """Sum over the named labels."""
    return _Aggregate("sum", over, inner)


def spread(inner: Expression, *over: str) -> Expression:
    """Population standard deviation over the named labels: imbalance."""
    return _Aggregate("stddev", over, inner)


def at_least(inner: Expression, least: float) -> Expression:
    """``clamp_min``: keeps a denominator away from zero."""
    return _ClampMin(inner, least)


def ratio(numerator: Expression, denominator: Expression, *ignoring: str) -> Expression:
    """Numerator by denominator."""
    return _Binary("/", numerator, denominator, ignoring)


def plus(left: Expression, right: Expression) -> Expression:
    """Sum of two vectors with equal label sets."""
    return _Binary("+", left, right)


def minus(left: Expression, right: Expression) -> Expression:
    """Difference of two vectors with equal label sets."""
    return _Binary("-", left, right)
