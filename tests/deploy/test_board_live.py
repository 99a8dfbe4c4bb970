"""Each board has data on a real Prometheus: of hostpulse's exporter and detector, or of other exporters alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest

from catalog import SIGNALS, capacity
from deploy.grafana import chosen
from deploy.grafana.elsewhere import anywhere
from tests import servers
from tests.deploy.boards import BOARDS, Asked, asked, filled, read, variables
from tests.deploy.live import OURS, THEIRS, other_exporters

SELECTOR = re.compile(r"\w+\{[^}]*\}")
OWN = " or on () "
GPUS = 8
ONLY_IN_EPISODES = "What moved most"
DIFFER_LIMIT_S = 60.0  # in the first minute the mean of the hour is that of the minute: none is above or below


@pytest.fixture(scope="module")
def prometheus(live: servers.Prometheus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Prometheus]:
    with other_exporters(live, tmp_path_factory.mktemp("boards"), GPUS):
        live.await_result(f"{next(iter(capacity.RECORDS.values())).minute}")
        yield live


def _has_data(prometheus: servers.Prometheus, expression: str) -> bool:
    return any(math.isfinite(float(series["value"][1])) for series in prometheus.query(expression))


def _is_here(prometheus: servers.Prometheus, query: Asked) -> bool:
    """Whether this machine has the hardware: each family that the query reads under its own name has series."""
    return all(map(prometheus.query, SELECTOR.findall(query.expression.partition(OWN)[0])))


@pytest.mark.parametrize("name", BOARDS)
def test_expressions_return_data(prometheus: servers.Prometheus, name: str) -> None:
    queries = list(asked(read(name), instance=OURS))
    silent = queries.copy()

    def none_is_missed() -> bool:
        silent[:] = [query for query in silent if not _has_data(prometheus, query.expression)]
        return not any(_is_here(prometheus, query) for query in silent)

    servers.wait_until(none_is_missed, DIFFER_LIMIT_S, lambda: f"data in {silent}")
    assert len(silent) < len(queries) / 3


@pytest.mark.parametrize("name", BOARDS)
def test_no_open_panel_is_empty(prometheus: servers.Prometheus, name: str) -> None:
    opened = [query for query in asked(read(name), instance=OURS) if not query.folded]
    empty = {query.panel for query in opened} - {ONLY_IN_EPISODES}

    def none_is_empty() -> bool:
        empty.difference_update(
            query.panel for query in opened if query.panel in empty and _has_data(prometheus, query.expression)
        )
        return not empty

    servers.wait_until(none_is_empty, DIFFER_LIMIT_S, lambda: f"data in {empty}")
    assert opened


@pytest.mark.parametrize("name", ["host", "gpu"])
def test_boards_work_with_other_exporters_alone(prometheus: servers.Prometheus, name: str) -> None:
    silent = [
        query.panel
        for query in asked(read(name), instance=THEIRS)
        if OWN in query.expression and not query.folded and not _has_data(prometheus, query.expression)
    ]
    assert silent == []


def test_gpus_of_other_exporters_are_told_apart(prometheus: servers.Prometheus) -> None:
    signal = SIGNALS["gpu_temperature_celsius"]
    expression = filled(anywhere(signal.expression, chosen.WINDOW, chosen.HOST), instance=THEIRS)
    assert {series["metric"]["gpu"] for series in prometheus.query(expression)} == {str(gpu) for gpu in range(GPUS)}


@pytest.mark.parametrize("name", BOARDS)
def test_hosts_can_be_chosen_by_their_names_without_ports(prometheus: servers.Prometheus, name: str) -> None:
    variable = variables(read(name))["instance"]
    match = re.fullmatch(r"label_values\((.*), instance\)", filled(variable["query"]))
    assert match
    choices = prometheus.get("/api/v1/label/instance/values", **{"match[]": match[1]}).json()["data"]
    named = re.compile(variable["regex"].strip("/"))
    hosts = {found[1] for found in map(named.fullmatch, choices) if found}
    assert OURS in hosts
    assert {host for host in hosts if ":" in host} == set()
