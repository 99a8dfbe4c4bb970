"""The Grafana board: as the catalog says, as Grafana's own models read it, in PromQL that Prometheus 3 parses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from catalog import FAMILIES, SIGNALS
from catalog.outputs import OUTPUTS
from tests.tree import ROOT

BOARD = ROOT / "deploy/grafana/dashboards/hostpulse-host.json"  # rendered: see test_render
VARIABLES = {"instance": "node7:17720", "__rate_interval": "5s"}


def _board() -> dict[str, Any]:
    board: dict[str, Any] = json.loads(BOARD.read_text())
    return board


def panels(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All panels, those inside collapsed rows too."""
    for node in nodes:
        yield node
        yield from panels(node.get("panels") or [])


def expressions(variables: dict[str, str]) -> list[tuple[str, str]]:
    """Panel title and expression of each query, its variables filled in."""
    queries = [
        (panel["title"], query["expr"]) for panel in panels(_board()["panels"]) for query in panel.get("targets", [])
    ]
    return [(title, re.sub(r"\$\{?(\w+)\}?", lambda match: variables[match[1]], text)) for title, text in queries]


def test_grafana_models_know_every_key() -> None:
    register_default_plugins()
    board = _board()
    assert list(_differences(board, json.loads(JSONEncoder().encode(Dashboard.from_json(board))))) == []


def test_misspelt_key_would_be_found() -> None:
    register_default_plugins()
    board = _board()
    board["panels"][1]["gridPoz"] = {}
    assert list(_differences(board, json.loads(JSONEncoder().encode(Dashboard.from_json(board))))) != []


def test_each_panel_and_each_query_has_its_own_id() -> None:
    shown = list(panels(_board()["panels"]))
    assert len({panel["id"] for panel in shown}) == len(shown)
    for panel in shown:
        references = [query["refId"] for query in panel.get("targets", [])]
        assert len(set(references)) == len(references)


def test_expressions_parse_and_read_only_declared_metrics() -> None:
    for title, expression in expressions(VARIABLES):
        promql_parser.parse(expression)
        assert set(re.findall(r"hostpulse_\w+|process_\w+", expression)) <= FAMILIES.keys() | OUTPUTS.keys(), title


def test_each_signal_is_shown_once() -> None:
    shown = [expression for _, expression in expressions(VARIABLES)]
    wanted = [signal.promql("5s", 'instance="node7:17720"') for signal in SIGNALS.values()]
    assert [shown.count(expression) for expression in wanted] == [1] * len(wanted)


def test_score_panel_draws_its_bound() -> None:
    (panel,) = (panel for panel in panels(_board()["panels"]) if panel["title"] == "Score of each detector")
    defaults = panel["fieldConfig"]["defaults"]
    assert {"color": "red", "value": 1.0} in defaults["thresholds"]["steps"]
    assert defaults["custom"]["thresholdsStyle"] == {"mode": "dashed"}


def _differences(given: Any, kept: Any, path: str = "") -> Iterator[str]:
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            if key in kept:
                yield from _differences(value, kept[key], f"{path}/{key}")
            else:
                yield f"{path}/{key} is unknown"
    elif isinstance(given, list) and isinstance(kept, list):
        for number, (left, right) in enumerate(zip(given, kept, strict=True)):
            yield from _differences(left, right, f"{path}[{number}]")
    elif given != kept:
        yield f"{path}: {given!r} becomes {kept!r}"
