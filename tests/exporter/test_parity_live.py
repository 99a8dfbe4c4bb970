"""The catalog's aliases mean what they say: a real node_exporter tells the same of this host, at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from prometheus_client.samples import Sample
from requests import Session

from catalog import FAMILIES
from catalog.families import cpu, network, storage
from catalog.family import Alias, Family, Kind, Subsystem
from catalog.series import Series, parse_series
from exporter.collector import Collector, Unavailable, discover
from exporter.host import Host
from tests.exporter.parity import ALIKE, comparable, differences, samples_of, told, unexplained
from tests.hosts import context
from tests.servers import Server, start_node_exporter

LOOKS = 40
# What node_exporter opens itself while it looks, and closes before it answers.
TOLERANCES = {network.SOCKETS_USED.name: 8.0, storage.FILE_DESCRIPTORS_ALLOCATED.name: 64.0}
# Perf counts from when it was asked to, so both count from different starts; all else counts from boot.
FROM_BOOT = [family for family in FAMILIES.values() if not family.source.startswith("perf ")]


@contextmanager
def _ours() -> Iterator[list[Collector]]:
    """All collectors of this host, open: read on the spot, unlike the slow ones behind /metrics."""
    collectors = []
    for kind in discover().values():
        try:
            collectors.append(kind(context(Host())))
        except Unavailable:
            continue
    yield collectors
    for collector in collectors:
        collector.close()


def _read(collectors: list[Collector]) -> dict[Series, float]:
    found: dict[Series, float] = {}
    for collector in collectors:
        values = collector.read()
        found.update(zip(collector.series, values, strict=True))
    return found


class Look:
    """What they tell, between two readings of ours."""

    def __init__(self, collectors: list[Collector], server: Server, connection: Session) -> None:
        before = _read(collectors)
        reply = connection.get(f"{server.url}/metrics", timeout=10)
        after = _read(collectors)
        self.samples = samples_of(reply.text)
        self.before, self.after = comparable(before, self.samples), comparable(after, self.samples)

    def wrong(self, families: list[Family]) -> dict[Series, str]:
        """Where the two differ."""
        return differences(told(self.samples, families), self.before, self.after, TOLERANCES)


def _look(server: Server, until: Callable[[list[Look]], bool]) -> list[Look]:
    """Looks, over a connection that is open before the first one, as it counts itself."""
    found: list[Look] = []
    with Session() as connection, _ours() as collectors:
        connection.get(server.url, timeout=10)
        while not until(found):
            found.append(Look(collectors, server, connection))
    return found


def _goes_back(series: Series) -> bool:
    """Whether a value may fall: gauges, and the two times that the kernel estimates while a CPU is idle."""
    return FAMILIES[series.name].kind is Kind.GAUGE or (
        series.name == cpu.SECONDS.name and series.label("mode") in ("idle", "iowait")
    )


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> list[Look]:
    """Looks until each gauge was caught standing still, or so many."""
    moving: list[set[str]] = []

    def stood_still(found: list[Look]) -> bool:
        if found:
            wrong = unexplained(found[-1].wrong(FROM_BOOT), "live")
            moving.append({name for name in wrong if _goes_back(parse_series(name))})
        return len(found) >= LOOKS or (len(found) >= 3 and not set.intersection(*moving))

    with start_node_exporter(tmp_path_factory.mktemp("node"), *ALIKE) as server:
        return _look(server, stood_still)


def test_counters_of_a_real_node_exporter_lie_between_two_readings_of_ours(looks: list[Look]) -> None:
    for look in looks:
        wrong = {series: text for series, text in look.wrong(FROM_BOOT).items() if not _goes_back(series)}
        assert unexplained(wrong, "live") == {}


def test_gauges_of_a_real_node_exporter_are_ours_when_they_stand_still(looks: list[Look]) -> None:
    wrong = [look.wrong(FROM_BOOT) for look in looks]
    never = {series: text for series, text in wrong[0].items() if all(series in found for found in wrong)}
    assert unexplained({series: text for series, text in never.items() if _goes_back(series)}, "live") == {}


def test_enough_was_compared(looks: list[Look]) -> None:
    theirs = told(looks[0].samples, FROM_BOOT)
    same = theirs.keys() & looks[0].before.keys()
    families, there = {series.name for series in same}, {series.name for series in same if theirs[series]}
    print(f"{len(families)} families, {len(there)} of them not zero, {len(same)} series, {len(looks)} looks")
    assert len(families) >= 150
    assert len(there) >= 80
    assert len(same) >= 200


def _altered(alias: Alias) -> Iterator[Alias]:
    """Mistakes in an alias: its unit, what it matches, what it adds, which label it takes for which."""
    yield replace(alias, factor=alias.factor * 1024)
    yield replace(alias, factor=alias.factor / 1000)
    if alias.adds:
        yield replace(alias, adds={label: f"not_{value}" for label, value in alias.adds.items()})
        yield replace(alias, adds={})


def test_comparison_finds_each_wrong_unit_and_label(looks: list[Look]) -> None:
    look = looks[0]
    right = {series.name for series, value in told(look.samples, FROM_BOOT).items() if value}
    families = [family for family in FROM_BOOT if family.name in right]
    missed = []
    for family in families:
        known = look.wrong([family])
        for alias in family.aliases:
            own = {series for series, value in told(look.samples, [replace(family, aliases=(alias,))]).items() if value}
            if own - known.keys():  # of zero, any multiple is right
                altered = [replace(family, aliases=(other,)) for other in _altered(alias)]
                missed += [other.aliases for other in altered if not _found(look, other, known)]
    assert len(families) >= 80
    assert missed == []


def _found(look: Look, family: Family, known: Mapping[Series, str]) -> bool:
    try:
        return bool(look.wrong([family]).keys() - known.keys())
    except AssertionError:  # the alias lacks a label
        return True


def test_comparison_finds_a_label_that_an_alias_does_not_have() -> None:
    with pytest.raises(AssertionError, match="lacks a label"):
        told([Sample("node_cpu_seconds_total", {"cpu": "0"}, 1.0)], [cpu.SECONDS])
    merged = replace(cpu.SECONDS, labels=("cpu",))
    both = [Sample("node_cpu_seconds_total", {"cpu": "0", "mode": mode}, value) for mode, value in (("a", 1), ("b", 2))]
    with pytest.raises(AssertionError, match="two samples"):
        told(both, [merged])


def test_perf_counts_of_a_real_node_exporter_grow_like_ours(tmp_path: Path) -> None:
    # Those of software: of hardware's, node_exporter tells what was counted, and we what would have been without turns.
    of_perf = [family for family in FAMILIES.values() if family.source.startswith("perf PERF_COUNT_SW_")]
    with start_node_exporter(tmp_path, "--collector.disable-defaults", "--collector.perf") as server:
        looks = _look(server, lambda found: len(found) == 8)
    theirs = [told(look.samples, of_perf) for look in looks]
    if not theirs[0]:
        pytest.skip("node_exporter counts no perf events on this host")
    series_of_both = theirs[0].keys() & looks[0].before.keys()
    print(f"{len(series_of_both)} series of perf")
    assert series_of_both
    for series in series_of_both:
        least, most = -inf, inf  # how much earlier than ours theirs may have begun, in counts
        for look, values in zip(looks, theirs, strict=True):
            least = max(least, values[series] - look.after[series])
            most = min(most, values[series] - look.before[series])
        assert least <= most, f"{series}: theirs grew otherwise than ours"


@pytest.mark.parametrize("family", [family for family in FAMILIES.values() if family.aliases], ids=lambda f: f.name)
def test_alias_is_a_metric_of_another_exporter(family: Family) -> None:
    for alias in family.aliases:
        assert alias.name.startswith("DCGM_FI_" if family.subsystem is Subsystem.GPU else "node_")
        assert alias.name not in FAMILIES
