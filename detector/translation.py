"""What series of other exporters are called in the catalog: the names of metrics and labels, and the units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from catalog import FAMILIES, SIGNALS
from catalog.devices import wanted
from catalog.exporters import OWN, Exporter
from catalog.family import Alias, Family, Tier
from catalog.series import Series
from detector.diagnosis.probes import PROBES
from detector.query import matching, one_of

Labels = tuple[tuple[str, str], ...]

_MOST_KNOWN = 50_000
_OWN_NAMES = ['__name__=~"hostpulse_.+|process_.+"', '__name__!~"hostpulse_(anomaly|detector)_.+"']
_INSTANCE_OF_GPU = "GPU_I_ID"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Our series, and by what a value is multiplied. Of two that mean one series the lower ``rank`` counts."""

    series: Series
    factor: float
    rank: int

    @property
    def family(self) -> Family:
        """What it is one of."""
        return FAMILIES[self.series.name]


class Translation:
    """Translates the label sets of one target, and remembers them."""

    def __init__(self, exporter: Exporter) -> None:
        self.exporter = exporter
        self._known: dict[Labels, Meaning | None] = {}

    def __call__(self, metric: Mapping[str, str]) -> Meaning | None:
        """What a label set means; None for what the catalog does not know or does not take for worth it.

        Labels that the database or the scrape added are dropped, and so is what is read once and is no sample in time.
        """
        key = tuple(metric.items())
        if key not in self._known:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known[key] = _own(metric) if self.exporter is OWN else _foreign(metric)
        return self._known[key]


def name_matchers(exporter: Exporter) -> list[str]:
    """Matchers of all metrics of an exporter that can be judged, or are looked at once something is found."""
    return _OWN_NAMES if exporter is OWN else [matching("__name__", _foreign_names(exporter))]


@cache
def _foreign_names(exporter: Exporter) -> str:
    read = frozenset[str]().union(*(one.expression.families() for one in (*SIGNALS.values(), *PROBES.values())))
    names = {alias.name for name in read for alias in FAMILIES[name].aliases}
    return one_of(sorted(name for name in names if name.startswith(exporter.prefix)), exporter.prefix)


@cache
def _aliases() -> Mapping[str, list[tuple[int, Family, Alias]]]:
    """By the foreign name: place among the family's aliases, family, alias."""
    found: dict[str, list[tuple[int, Family, Alias]]] = {}
    for family in FAMILIES.values():
        for place, alias in enumerate(family.aliases):
            found.setdefault(alias.name, []).append((place, family, alias))
    return found


def _own(metric: Mapping[str, str]) -> Meaning | None:
    family = FAMILIES.get(metric["__name__"])
    if family is None or family.tier is Tier.STATIC:
        return None
    return Meaning(family(*(metric.get(label, "") for label in family.labels)), 1.0, 0)


def _foreign(metric: Mapping[str, str]) -> Meaning | None:
    for place, family, alias in _aliases().get(metric["__name__"], ()):
        if family.tier is Tier.STATIC or not alias.match.items() <= metric.items():
            continue
        values = [alias.adds.get(name, metric.get(alias.renames.get(name, name), "")) for name in family.labels]
        series = family(*values)
        # A part of a GPU repeats much of what is told of the whole.
        rank = place + len(family.aliases) * bool(metric.get(_INSTANCE_OF_GPU))
        return Meaning(series, alias.factor, rank) if wanted(series, family.subsystem) else None
    return None
