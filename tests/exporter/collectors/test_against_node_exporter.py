"""The catalog's aliases mean what they say: a real node_exporter on the same host gives the same values."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from catalog import FAMILIES
from catalog.family import Alias, Family, Subsystem
from catalog.series import Series
from exporter.collector import Unavailable, discover
from exporter.host import Host
from tests.hosts import context
from tests.servers import start_node_exporter

FLAGS = ("--collector.vmstat.fields=.*", "--collector.netstat.fields=.*", "--collector.meminfo_numa")


def _translated(family: Family, alias: Alias, sample: Sample) -> Series | None:
    """The series of ours that a foreign sample stands for."""
    if any(sample.labels.get(label) != value for label, value in alias.match.items()):
        return None
    labels = [alias.adds.get(label, sample.labels.get(alias.renames.get(label, label))) for label in family.labels]
    assert None not in labels, f"{alias.name}{sample.labels} lacks a label of {family.name}"
    return family(*labels)


def _read_all() -> dict[Series, float]:
    found: dict[Series, float] = {}
    for kind in discover().values():
        try:
            collector = kind(context(Host()))
        except Unavailable:
            continue
        values = collector.read()
        found.update(zip(collector.series, values, strict=True))
        collector.close()
    return found


def _compared(before: dict[Series, float], text: str, after: dict[Series, float]) -> dict[Series, str]:
    """What does not agree, with both values, by series; nothing for those that do."""
    foreign = defaultdict(list)
    for exposed in text_string_to_metric_families(text):
        for sample in exposed.samples:
            foreign[sample.name].append(sample)
    found = {}
    for family in FAMILIES.values():
        for alias in family.aliases:
            for sample in foreign[alias.name]:
                series = _translated(family, alias, sample)
                if series in before and series in after:
                    found[series] = _difference((before[series], after[series]), sample.value * alias.factor)
    return found


def _difference(ours: tuple[float, float], theirs: float) -> str:
    """Empty where the foreign value lies between ours from before and after; ours is missing where it is impossible."""
    low, high = sorted(ours)
    slack = 0.02 * abs(high) + 4  # the scrape itself takes sockets and tasks
    agree = theirs < 0 if low != low else low - slack <= theirs <= high + slack
    return "" if agree else f"{ours}, node_exporter {theirs}"


def test_aliases_agree_with_a_real_node_exporter(tmp_path: Path) -> None:
    with start_node_exporter(tmp_path, *FLAGS) as server:
        looks = [_compared(_read_all(), server.get("/metrics").text, _read_all()) for _ in range(4)]
    assert len({series.name for series in looks[0]}) >= 150, "too few families could be compared"
    # On a busy host a gauge may jump between two readings, but not in every look.
    never = {
        str(series): difference for series, difference in looks[0].items() if all(look.get(series) for look in looks)
    }
    assert never == {}


@pytest.mark.parametrize("family", [family for family in FAMILIES.values() if family.aliases], ids=lambda f: f.name)
def test_alias_is_a_metric_of_another_exporter(family: Family) -> None:
    for alias in family.aliases:
        assert alias.name.startswith("DCGM_FI_" if family.subsystem is Subsystem.GPU else "node_")
        assert alias.name not in FAMILIES
