"""Each query of the cookbook answers its question: on a month of history, or live where it reads raw series."""

from __future__ import annotations

import math
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import promql_parser
import pytest

from catalog import FAMILIES, capacity
from catalog.outputs import OUTPUTS
from tests import servers
from tests.servers import Prometheus
from tests.tree import ROOT

PAGE = (ROOT / "docs" / "cookbook.md").read_text()
QUERIES = re.findall(r"```promql\n(.*?)```", PAGE, flags=re.DOTALL)
HISTORY = [query for query in QUERIES if "hostpulse_" not in query]
HOSTS = ("idle", "usual", "full", "sick")
DAYS, STEP_S = 30, 7200
RISING = {"memory_used_ratio": 0.1, "storage_filesystem_available_ratio": -0.1}  # change in the whole time
VALUES = {  # of what has to differ among hosts for a question to have an answer; all else is 0.3
    "cpu_used_ratio": (0.01, 0.3, 0.9, 0.6),
    "cpu_steal_ratio": (0.0, 0.0, 0.0, 0.1),
    "cpu_cgroup_throttled_ratio": (0.0, 0.0, 0.0, 2.0),
    "memory_pressure_ratio": (0.0, 0.0, 0.0, 0.2),
    "memory_used_ratio": (0.1, 0.3, 0.8, 0.5),
    "storage_read_latency_seconds": (0.001, 0.001, 0.002, 0.01),
    "storage_filesystem_available_ratio": (0.9, 0.8, 0.3, 0.5),
    "network_used_ratio": (0.0, 0.1, 0.95, 0.1),
    "gpu_utilization_ratio": (0.01, 0.5, 0.9, 0.05),
    "gpu_tensor_active_ratio": (0.0, 0.3, 0.05, 0.0),
    "gpu_memory_used_ratio": (0.0, 0.5, 0.9, 0.9),
    "gpu_temperature_celsius": (40.0, 60.0, 65.0, 85.0),
    "gpu_sw_power_cap_ratio": (0.0, 0.1, 0.9, 0.0),
    "anomaly_score": (0.2, 0.3, 0.4, 2.0),
}


def _level(name: str, host: int, done: float) -> float:
    metric = name.split(":")[1]
    base = VALUES.get(metric, (0.3,) * len(HOSTS))[host]
    return base + RISING.get(metric, 0.0) * done


def _history(now_s: int) -> Iterator[str]:
    """OpenMetrics text, series by series: https://prometheus.io/docs/prometheus/latest/storage/#backfilling."""
    times_s = [*range(now_s - DAYS * 86400, now_s, STEP_S), now_s]
    for name in sorted(capacity.names()):
        yield f"# TYPE {name} gauge\n"
        subsystems = ("cpu", "memory") if name.startswith("instance_subsystem:") else ("",)
        for number, host in enumerate(HOSTS):
            for subsystem in subsystems:
                labels = f'job="hostpulse",instance="{host}:17720"' + (f',subsystem="{subsystem}"' if subsystem else "")
                for at_s in times_s:
                    done = 1 - (now_s - at_s) / (DAYS * 86400)
                    yield f"{name}{{{labels}}} {_level(name, number, done):.6g} {at_s}\n"
    yield "# EOF\n"


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, int]]:
    """Prometheus with a month of what the rules record, and when it ends."""
    folder = tmp_path_factory.mktemp("month")
    now_s = int(time.time()) // STEP_S * STEP_S  # where steps of subqueries lie
    text, data = folder / "history.txt", folder / "data"
    text.write_text("".join(_history(now_s)))
    command: list[str | Path] = [servers.binary("promtool"), "tsdb", "create-blocks-from", "openmetrics", text, data]
    subprocess.run([*command, "--max-block-duration=744h"], check=True, capture_output=True, timeout=120)
    with servers.start_prometheus(folder, retention="60d") as prometheus:
        yield prometheus, now_s


def _finite(prometheus: Prometheus, query: str, **parameters: str) -> list[float]:
    values = [float(series["value"][1]) for series in prometheus.query(query, **parameters)]
    return [value for value in values if math.isfinite(value)]


def test_there_are_at_least_as_many_questions_as_promised() -> None:
    questions = re.findall(r"^\*\*(\d+)\. .*\?\*\*", PAGE, flags=re.MULTILINE)
    assert [int(number) for number in questions] == list(range(1, len(questions) + 1))
    assert len(questions) >= 25
    assert len(QUERIES) >= len(questions)


@pytest.mark.parametrize("query", QUERIES)
def test_query_is_of_the_common_grammar_and_names_what_is_declared(query: str) -> None:
    promql_parser.parse(query)
    assert set(re.findall(r"instance\w*:\w+:\w+", query)) <= capacity.names()
    assert set(re.findall(r"hostpulse_\w+", query)) <= FAMILIES.keys() | OUTPUTS.keys()


def test_each_question_about_history_has_an_answer(month: tuple[Prometheus, int]) -> None:
    prometheus, now_s = month
    silent = [query for query in HISTORY if not _finite(prometheus, query, time=str(now_s))]
    assert silent == []
    assert len(HISTORY) >= 25


@pytest.mark.parametrize(
    ("number", "hosts"),
    [
        *((2, {"idle"}), (6, {"full"}), (13, {"sick"}), (14, {"sick"}), (15, {"full"}), (16, {"sick"})),
        *((17, {"sick"}), (19, {"full"}), (20, {"sick"}), (21, {"full"}), (22, {"sick"}), (27, {"sick"})),
    ],
)
def test_question_about_hosts_is_answered_with_the_right_ones(
    month: tuple[Prometheus, int], number: int, hosts: set[str]
) -> None:
    prometheus, now_s = month
    (query,) = re.findall(rf"\*\*{number}\. .*?```promql\n(.*?)```", PAGE, flags=re.DOTALL)
    found = {series["metric"]["instance"].partition(":")[0] for series in prometheus.query(query, time=str(now_s))}
    assert found == hosts


def test_questions_about_raw_series_have_answers_on_a_live_store(live: Prometheus) -> None:
    asked = [query for query in QUERIES if query not in HISTORY]
    for query in asked:
        live.await_result(query)
    assert len(asked) > 2
