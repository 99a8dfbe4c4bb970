"""Signals in other exporters' names: their labels, their units, and ours first."""

from __future__ import annotations

import promql_parser
import pytest

from catalog import SIGNALS
from catalog.expression import level, rate, ratio
from catalog.families import cpu, exporter, gpu, memory
from deploy.grafana.elsewhere import anywhere


def test_ours_comes_first() -> None:
    told = anywhere(level(memory.AVAILABLE_BYTES), "5s", 'instance="h"')
    ours, theirs = told.split(" or on () ")
    assert ours == 'hostpulse_memory_available_bytes{instance="h"}'
    assert theirs == '(node_memory_MemAvailable_bytes{instance="h"})'


def test_quantity_that_only_we_tell_has_no_other_names() -> None:
    told = anywhere(level(exporter.SERIES), "5s", "")
    assert told == "hostpulse_exporter_series"


def test_labels_that_an_alias_stands_for_choose_it() -> None:
    told = anywhere(rate(memory.SCANNED_PAGES, source="direct"), "5s", "")
    assert "node_vmstat_pgscan_direct" in told
    assert "pgscan_kswapd" not in told


def test_units_become_ours() -> None:
    told = anywhere(ratio(level(gpu.MEMORY_USED_BYTES), level(gpu.MEMORY_TOTAL_BYTES)), "5s", "")
    assert told.count("* 1048576.0") == 2


def test_gpus_have_no_labels_but_ours_and_the_targets() -> None:
    assert "max by (instance, job, gpu) (" in anywhere(level(gpu.TEMPERATURE_CELSIUS), "5s", "")


def test_labels_of_the_same_name_are_matched_as_ours_are() -> None:
    theirs = anywhere(rate(cpu.SECONDS, mode="user"), "5s", 'instance="h"').split(" or on () ")[1]
    assert theirs == '(rate(node_cpu_seconds_total{mode="user",instance="h"}[5s]))'


@pytest.mark.parametrize("name", SIGNALS)
def test_each_signal_parses(name: str) -> None:
    assert promql_parser.parse(anywhere(SIGNALS[name].expression, "5s", 'instance="h",job="j"'))
