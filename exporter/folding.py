"""Folds the series of many CPUs into one for each NUMA node or package, before they are stored or shown.

Counters are folded by how much they grew: a CPU that goes offline takes its counts with it, and a sum that falls would
look like a counter that began anew. https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from math import isnan, nan
from operator import itemgetter
from typing import Any

from catalog import FAMILIES
from catalog.family import Family, Kind
from catalog.series import Series
from exporter.collector import Collector, PartedCollector
from exporter.devices import CPUS_PRESENT
from exporter.host import Host
from exporter.parsing import cpus_of

_NODES = "/sys/devices/system/node/node*/cpulist"
_PACKAGES = "/sys/devices/system/cpu/cpu*/topology/physical_package_id"
_MANY_CPUS = 64

Fold = Callable[[Collector], Collector]


class Granularity(StrEnum):
    """What has a series of its own: each CPU, or each NUMA node or package."""

    AUTO = "auto"
    CORE = "core"
    NUMA = "numa"
    PACKAGE = "package"


def unfolded(collector: Collector) -> Collector:
    """The collector as it is."""
    return collector


def folder(host: Host, granularity: Granularity) -> Fold:
    """What to do with a collector once it is built: wrap it, where it has series of CPUs that are to be folded."""
    if granularity is Granularity.AUTO:
        granularity = Granularity.NUMA if len(_cpus(host, CPUS_PRESENT)) > _MANY_CPUS else Granularity.CORE
    if granularity is Granularity.CORE:
        return unfolded
    places_of = _nodes if granularity is Granularity.NUMA else _packages

    def fold(collector: Collector) -> Collector:
        if not any(_folds(family) for family in collector.families):
            return collector
        folding = _Folding(lambda: places_of(host))
        return _Parts(collector, folding) if isinstance(collector, PartedCollector) else _Whole(collector, folding)

    return fold


def _folds(family: Family) -> bool:
    return "cpu" in family.labels and family.kind is not Kind.INFO


def _cpus(host: Host, path: str) -> frozenset[int]:
    try:
        return cpus_of(host.read(path), path)
    except (OSError, ValueError):
        return frozenset()  # a node without CPUs has an empty list


def _nodes(host: Host) -> dict[str, str]:
    """The name of each CPU's node."""
    return {str(cpu): path.split("/")[-2] for path in host.glob(_NODES) for cpu in _cpus(host, path)}


def _packages(host: Host) -> dict[str, str]:
    """The name of each CPU's package; firmware that does not know it says -1."""
    numbers = {path.split("/")[-3].removeprefix("cpu"): host.text(path, "") for path in host.glob(_PACKAGES)}
    return {cpu: f"package{number if number.isdigit() else 0}" for cpu, number in numbers.items()}


class _Folding:
    """Folds the readings of one collector. CPUs that the host says nothing of belong to the first place."""

    def __init__(self, places_of: Callable[[], Mapping[str, str]]) -> None:
        self.series: tuple[Series, ...] = ()
        self._places_of = places_of
        self._layout: tuple[Series, ...] | None = None
        self._cells: dict[Series, _Cell] = {}

    def lay_out(self, layout: tuple[Series, ...]) -> None:
        """Learn which series go where; an equal outcome keeps the same tuple."""
        places = self._places_of()
        anywhere = min(places.values(), default="node0")
        members: dict[Series, list[int]] = {}
        for index, series in enumerate(layout):
            members.setdefault(_folded(series, places, anywhere), []).append(index)
        cells = {
            series: _Cell(FAMILIES[series.name], indexes, tuple(layout[index] for index in indexes))
            for series, indexes in members.items()
        }
        for series in cells.keys() & self._cells.keys():
            cells[series].follow(self._cells[series])
        self._layout, self._cells = layout, cells
        if tuple(cells) != self.series:
            self.series = tuple(cells)

    def __call__(self, layout: tuple[Series, ...], values: Sequence[float]) -> list[float]:
        """One value for each of ``series``, which may be a new tuple afterwards."""
        if len(values) != len(layout):
            raise ValueError(f"read {len(values)} values for {len(layout)} series")
        if layout is not self._layout:
            self.lay_out(layout)
        return [cell(values) for cell in self._cells.values()]


def _folded(series: Series, places: Mapping[str, str], anywhere: str) -> Series:
    if not _folds(FAMILIES[series.name]):
        return series
    labels = ((name, places.get(value, anywhere) if name == "cpu" else value) for name, value in series.labels)
    return Series(series.name, tuple(labels))


class _Cell:
    """One folded series, of one or many."""

    __slots__ = ("_averaged", "_counter", "_last", "_last_sum", "_members", "_pick", "_total")

    def __init__(self, family: Family, indexes: Sequence[int], members: tuple[Series, ...]) -> None:
        self._members = members
        first, *others = indexes
        self._pick = itemgetter(*indexes) if others else lambda values: (values[first],)
        self._averaged = family.averaged_over_cpus
        self._counter = family.kind is Kind.COUNTER and _folds(family)
        self._last: Sequence[float] = (0.0,) * len(members)  # what was counted before the first reading counts as well
        self._last_sum = self._total = 0.0

    def follow(self, before: _Cell) -> None:
        """Go on from what was counted when the members were others."""
        known = dict(zip(before._members, before._last, strict=True))
        self._last = tuple(known.get(member, nan) for member in self._members)
        self._last_sum, self._total = sum(self._last), before._total

    def __call__(self, values: Sequence[float]) -> float:
        """The value of all members together, NaN where none has one."""
        now = self._pick(values)
        if self._counter:
            return self._grown(now)
        there = [value for value in now if not isnan(value)]
        return sum(there) / len(there) if there else nan

    def _grown(self, now: Sequence[float]) -> float:
        total = sum(now)
        more = total - self._last_sum
        if more >= 0.0:
            self._last, self._last_sum = now, total
        elif all(map(isnan, now)):
            return nan
        else:  # a member is missing or new, or began anew
            pairs = list(zip(now, self._last, strict=True))
            more = sum(value - last for value, last in pairs if value >= last)
            self._last = tuple(last if isnan(value) else value for value, last in pairs)
            self._last_sum = sum(self._last)
        self._total += more / len(now) if self._averaged else more
        return self._total


class _Folded(Collector):
    """A collector with its series folded."""

    def __init__(self, inner: Collector, folding: _Folding) -> None:
        self._inner, self._folding = inner, folding
        folding.lay_out(inner.series)
        self.series, self.note = folding.series, inner.note

    def _fold(self, values: Sequence[float]) -> Sequence[float]:
        """The folded values of what the collector has just read, ``series`` bound to their layout."""
        folded = self._folding(self._inner.series, values)
        self.series = self._folding.series
        return folded

    def close(self) -> None:
        """Close the collector."""
        self._inner.close()


class _Whole(_Folded):
    """One that reads at once."""

    def read(self) -> Sequence[float]:
        """The folded values."""
        return self._fold(self._inner.read())


class _Parts(_Folded, PartedCollector):
    """One that reads in two parts."""

    _inner: PartedCollector

    def take(self) -> Any:
        """What the collector takes."""
        return self._inner.take()

    def parse(self, taken: Any, /) -> Sequence[float]:
        """The folded values of what was taken."""
        return self._fold(self._inner.parse(taken))
