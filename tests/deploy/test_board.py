"""The Grafana boards: as the catalog says, as Grafana's own models read them, in PromQL that Prometheus 3 parses."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from catalog import FAMILIES, SIGNALS, capacity
from catalog.outputs import OUTPUTS
from deploy.grafana import build, colours
from tests.deploy.boards import BOARDS, asked, panels, read, variables
from tests.tree import ROOT

ALIASES = {alias.name for family in FAMILIES.values() for alias in family.aliases}
OURS = re.compile(r"\b(?:hostpulse|process|instance_subsystem:|instance:)\w+[\w:]*")
THEIRS = re.compile(r"\b(?:node|DCGM)_\w+")
SUFFIXES = re.compile(r"_(bucket|sum|count)$")
each_board = pytest.mark.parametrize("name", BOARDS)


def test_each_board_is_a_file_and_each_file_a_board() -> None:
    assert sorted(build.rendered()) == [str(path.relative_to(ROOT)) for path in BOARDS.values()]


@each_board
def test_grafana_models_know_every_key(name: str) -> None:
    assert list(_differences(read(name), _round_trip(read(name)))) == []


def test_misspelt_key_would_be_found() -> None:
    board = read("host")
    board["panels"][1]["gridPoz"] = {}
    assert list(_differences(board, _round_trip(board))) != []


@each_board
def test_each_panel_and_each_query_has_its_own_id(name: str) -> None:
    shown = list(panels(read(name)))
    assert len({panel["id"] for panel in shown}) == len(shown)
    for panel in shown:
        references = [query["refId"] for query in panel.get("targets", [])]
        assert len(set(references)) == len(references)


@each_board
def test_no_panel_covers_another(name: str) -> None:
    taken = Counter(
        (left, top)
        for panel in read(name)["panels"]
        for left in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for top in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    )
    assert {place for place, times in taken.items() if times > 1} == set()
    assert {left for left, _ in taken} <= set(range(24))


@each_board
def test_each_panel_has_a_description_and_a_unit(name: str) -> None:
    for panel in panels(read(name)):
        if panel["type"] != "row":
            assert panel["description"].strip(), panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@each_board
def test_expressions_parse_and_read_only_declared_metrics(name: str) -> None:
    found = list(asked(read(name)))
    assert found
    for query in found:
        promql_parser.parse(query.expression)
        ours = {SUFFIXES.sub("", metric) for metric in OURS.findall(query.expression)}
        assert ours <= FAMILIES.keys() | OUTPUTS.keys() | capacity.names(), query.panel
        assert set(THEIRS.findall(query.expression)) <= ALIASES, query.panel


@each_board
def test_each_query_says_which_hosts_it_is_about(name: str) -> None:
    for query in asked(read(name), cluster="clusters-of-choice", job="jobs-of-choice"):
        assert 'cluster=~"clusters-of-choice"' in query.expression, query
        if "hostpulse_detector_" not in query.expression:  # the detector is a job of its own
            assert 'job=~"jobs-of-choice"' in query.expression, query


@each_board
def test_each_variable_is_declared_and_used_and_what_is_chosen_the_same_everywhere(name: str) -> None:
    declared = variables(read(name))
    used = set(re.findall(r"\$\{?([a-z]\w*)", BOARDS[name].read_text()))
    assert used == declared.keys()
    assert {"datasource", "cluster", "job", "instance", "subsystem"} <= used
    assert [one for one in declared if "hide" not in declared[one]][-1] == "subsystem"


@each_board
def test_colours_are_those_that_the_colour_blind_tell_apart(name: str) -> None:
    known = {*colours.SERIES, colours.CLEAR, colours.TEXT}
    told = set(_colours_in(read(name)))
    assert {colour[:7] if colour.startswith("#") else colour for colour in told} <= known
    for panel in panels(read(name)):
        if panel["type"] == "timeseries":
            overridden = {one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]}
            assert {query["refId"] for query in panel["targets"]} <= overridden, "none is left to Grafana's own palette"


def test_each_signal_is_shown_once_on_the_board_of_a_host() -> None:
    shown = [query.expression.partition(" or on () ")[0] for query in asked(read("host"))]
    where = 'cluster=~".*",job=~".*",instance=~"node7(:[0-9]+)?"'
    wanted = [signal.promql("10s", where) for signal in SIGNALS.values()]
    assert [shown.count(expression) for expression in wanted] == [1] * len(wanted)


def test_score_panel_draws_its_bound() -> None:
    (panel,) = (panel for panel in panels(read("host")) if panel["title"] == "Score of each detector")
    defaults = panel["fieldConfig"]["defaults"]
    assert 1.0 in [step["value"] for step in defaults["thresholds"]["steps"]]
    assert defaults["custom"]["thresholdsStyle"] == {"mode": "dashed"}


def _colours_in(part: Any) -> Iterator[str]:
    """What each key of a colour says."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in {"color", "fixedColor", "iconColor"} and isinstance(value, str):
                yield value
            yield from _colours_in(value)
    elif isinstance(part, list):
        for one in part:
            yield from _colours_in(one)


def _round_trip(board: dict[str, Any]) -> Any:
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(board)))


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
