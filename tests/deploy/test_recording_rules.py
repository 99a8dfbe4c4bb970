"""What is recorded for months: few series, named as Prometheus names them, and there on a live store."""

from __future__ import annotations

import re
from collections.abc import Iterator

import promql_parser
import pytest
import yaml

from catalog import FAMILIES, SIGNALS, capacity
from catalog.capacity import RECORDS, Record
from catalog.family import Subsystem
from catalog.outputs import OUTPUTS
from catalog.signal import JUDGED_SUBSYSTEMS, Role
from deploy.recording_rules import recording_rules
from tests import servers

RULES = [rule for group in yaml.safe_load(recording_rules())["groups"] for rule in group["rules"]]
MOST_SERIES = 300
RECORDED_LIMIT_S = 30.0
UNCOUNTED = {  # subsystems without a summary, and why
    ("network", Role.SATURATION): "the kernel keeps no share of time in which something waited for a network",
    ("storage", Role.ERROR): "disks report errors to the log, filesystems by turning read-only",
}


def test_each_rule_is_one_series_a_host_and_subsystem_and_they_are_few() -> None:
    series = [(rule["record"], rule.get("labels", {}).get("subsystem", "")) for rule in RULES]
    assert len(series) == len(set(series))
    assert 200 < len(series) < MOST_SERIES
    assert {name for name, _ in series} == capacity.names()


def test_names_tell_level_metric_and_operation() -> None:
    for name in capacity.names():
        assert re.fullmatch(r"instance(_subsystem)?:[a-z0-9_]+:(avg1m|max1m|avg1h|max1h|min1h|p95_1h|p05_1h)", name), (
            name
        )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["record"])
def test_rule_is_understood_by_the_newest_grammar_and_reads_what_is_declared(rule: dict[str, str]) -> None:
    promql_parser.parse(rule["expr"])
    read = set(re.findall(r"\bhostpulse_\w+", rule["expr"]))
    assert read <= FAMILIES.keys() | OUTPUTS.keys()
    assert set(re.findall(r"\binstance\w*:\w+:\w+", rule["expr"])) <= capacity.names()


def test_each_error_that_signals_count_is_recorded() -> None:
    errors = {signal.name for signal in SIGNALS.values() if signal.role is Role.ERROR and signal.unit == "1/s"}
    assert errors <= RECORDS.keys()


def test_each_subsystem_has_its_summaries_or_a_reason() -> None:
    led = {(str(record.subsystem), record.role) for record in RECORDS.values() if record.leads}
    wanted = {(subsystem, role) for subsystem in JUDGED_SUBSYSTEMS for role in capacity.SUMMARIES}
    assert wanted - led == UNCOUNTED.keys()
    shares = [(r.subsystem, r.role) for r in RECORDS.values() if r.leads and not r.counts_errors]
    assert len(shares) == len(set(shares)), "one share stands for a subsystem"


def test_what_is_worse_when_low_keeps_its_low_values() -> None:
    assert set(RECORDS["storage_filesystem_available_ratio"].hours) == {
        f"instance:storage_filesystem_available_ratio:{operation}" for operation in ("avg1h", "min1h", "p05_1h")
    }
    assert set(RECORDS["memory_oom_kills_per_second"].hours) == {"instance:memory_oom_kills_per_second:avg1h"}


def test_record_that_cannot_be_one_number_is_refused() -> None:
    expression = SIGNALS["storage_busy_ratio"].expression
    with pytest.raises(AssertionError, match="no number of many"):
        Record("a", "A test.", expression, "ratio", Subsystem.STORAGE, Role.UTILISATION, across="stddev")
    with pytest.raises(AssertionError, match="only shares and errors lead"):
        Record("a", "A test.", expression, "B/s", Subsystem.STORAGE, Role.UTILISATION, leads=True)


def test_each_record_has_data_where_the_host_has_the_hardware(live: servers.Prometheus) -> None:
    without_reason: list[str] = []

    def recorded() -> bool:
        there = {result["metric"]["__name__"] for result in live.query('{job="hostpulse"}')}
        wanted = {name for record in _on_this_host(there) for name in (record.minute, *record.hours)}
        without_reason[:] = sorted((wanted | capacity.VERDICTS.keys()) - there)
        return not without_reason and len(list(_on_this_host(there))) > 50

    servers.wait_until(recorded, RECORDED_LIMIT_S, lambda: f"recorded, but for {without_reason}")
    assert live.query(capacity.summary_minute(Role.ERROR))


def _on_this_host(there: set[str]) -> Iterator[Record]:
    """Records of hardware that the host has."""
    return (record for record in RECORDS.values() if record.expression.families() <= there)


def test_records_of_a_host_are_one_series_each(live: servers.Prometheus) -> None:
    counted = live.query('count by (__name__) ({__name__=~"instance:.+"})')
    assert {result["value"][1] for result in counted} == {"1"}
    subsystems = live.query("count(instance_subsystem:utilisation_ratio:avg1m)")
    assert int(subsystems[0]["value"][1]) >= len(JUDGED_SUBSYSTEMS) - 1  # virtual links have no speed
