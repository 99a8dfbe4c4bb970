"""The catalog's aliases mean what they say: a real node_exporter on the same host gives the same values."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from catalog import FAMILIES
from catalog.family import Alias, Family
from catalog.series import Series
from exporter.collector import Unavailable, discover
from exporter.host import Host
from tests.hosts import context
from tests.servers import start_node_exporter

FLAGS = ("--collector.vmstat.fields=.*", "--collector.netstat.fields=.*", "--collector.meminfo_numa")
# What moves by more than a moment's worth between two readings of a busy host.
RESTLESS = ("procs_", "load_average", "io_now", "writeback", "dirty_bytes", "sockets")


def _ours(series: Series) -> bool:
    return not any(word in series.name for word in RESTLESS)


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


def test_aliases_agree_with_a_real_node_exporter(tmp_path: Path) -> None:
    with start_node_exporter(tmp_path, *FLAGS) as server:
        before, text, after = _read_all(), server.get("/metrics").text, _read_all()
    foreign = defaultdict(list)
    for exposed in text_string_to_metric_families(text):
        for sample in exposed.samples:
            foreign[sample.name].append(sample)
    compared = set()
    for family in FAMILIES.values():
        for alias in family.aliases:
            for sample in foreign[alias.name]:
                series = _translated(family, alias, sample)
                if series not in before or series not in after or not _ours(series):
                    continue
                low, high = sorted((before[series], after[series]))
                if low != low:
                    assert sample.value < 0, f"{series} is missing, {alias.name} {sample.value}"
                    continue
                value = sample.value * alias.factor
                slack = 0.05 * abs(high) + 3
                assert low - slack <= value <= high + slack, f"{series} {low} to {high}, {alias.name} {value}"
                compared.add(family.name)
    assert len(compared) >= 140, f"only {len(compared)} families could be compared"


@pytest.mark.parametrize("family", [family for family in FAMILIES.values() if family.aliases], ids=lambda f: f.name)
def test_alias_is_a_metric_of_another_exporter(family: Family) -> None:
    for alias in family.aliases:
        assert alias.name.startswith("node_")
        assert alias.name not in FAMILIES
