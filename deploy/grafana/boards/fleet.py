"""The board of all hosts: which is worst, in which subsystem, since when, and how many alarms that makes.

A table joins queries by https://grafana.com/docs/grafana/latest/panels-visualizations/query-transform-data/.
"""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.builders import dashboard, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import dashboard as models

from catalog import outputs
from catalog.outputs import Output
from deploy.grafana import chosen, colours, verdict
from deploy.grafana.board import board as new_board
from deploy.grafana.board import link, mark_episodes, row
from deploy.grafana.chosen import CLUSTER, HOST, SUBSYSTEM, state
from deploy.grafana.colours import BAD, CLEAR, GOOD, GREY, WARN
from deploy.grafana.panels import Query, bounded, by_last_value, lines, number, rows, timeline
from deploy.grafana.tables import joined, matrix, renamed, sorted_by, with_cells

_MOST = 20
_HOST_BOARD = "/d/hostpulse-host?var-instance=${__data.fields.Host}&${datasource:queryparam}&${__url_time_range}"
_FUSED = 'detector="fused"'


def board() -> dashboard.Dashboard:
    """Which hosts are behaving unusually now, and how often do hosts alarm?"""
    built = new_board("fleet", "all hosts", "Which hosts are behaving unusually, and in what?", (chosen.hosts(),))
    built.time("now-6h", "now").refresh("10s")
    mark_episodes(built)
    row(built, "Now", (*_figures(), _worst(), _map()))
    row(built, "Over time", (_states(), _scores(), _alarms("warning"), _alarms("page")))
    return built


def _of(output: Output, *matchers: str) -> str:
    return chosen.of(output, *matchers, where=HOST)


def _named(expression: str) -> str:
    """The same with the host's name, without its port, as label ``host``."""
    return f'max by (host) (label_replace({expression}, "host", "$1", "instance", "(.+?)(:[0-9]+)?"))'


def _figures() -> Iterator[stat.Panel]:
    yield number("Hosts judged", f"count({_of(outputs.WINDOW_END)})", "Hosts that the detector has judged.")
    unusual = f"count({state('instance')} > 0) or vector(0)"
    panel = number("Hosts with an episode", unusual, "Hosts on which an episode is open.")
    yield panel.thresholds(colours.steps((GOOD, None), (WARN, 1.0)))
    paging = f"count({state('instance')} == 2) or vector(0)"
    panel = number("Hosts that page", paging, "Hosts whose episode is beyond the page budget.")
    yield panel.thresholds(colours.steps((GOOD, None), (BAD, 1.0)))
    yield number("Provisional", f"sum({_of(outputs.PROVISIONAL)})", "Hosts whose bound still rests on little data.")
    yield number("Frozen", f"sum({_of(outputs.FROZEN)})", "Hosts whose learning waits for an episode to end.")
    lag = number("Furthest behind", f"max({_of(outputs.WINDOW_LAG)})", "From a window's end to its verdict.", "s")
    yield lag.decimals(2).thresholds(colours.steps((GOOD, None), (WARN, 2.0), (BAD, 10.0)))


def _worst() -> table.Panel:
    told = {
        "Score": f"topk({_MOST}, {_named(_of(outputs.SCORE, _FUSED))})",
        "State": _named(state("instance")),
        "Detectors over": _named(_of(outputs.AGREEMENT)),
        "Data": _named(_of(outputs.COVERAGE)),
    }
    panel = rows("Worst hosts first", map(Query, told.values()), "By score; 1 is the bound.", width=12)
    joined(panel, "host")
    renamed(panel, {"host": "Host"} | dict(zip((f"Value #{letter}" for letter in "ABCD"), told, strict=True)))
    sorted_by(panel, "Score", descending=True)
    with_cells(panel, "Score", colours.steps((CLEAR, None), (WARN, 0.7), (BAD, verdict.BOUND)), decimals=2)
    with_cells(panel, "State", colours.steps((CLEAR, None), (WARN, 1), (BAD, 2)), mapping=verdict.states(CLEAR))
    panel.override_by_name("Data", [models.DynamicConfigValue("unit", "percentunit")])
    return panel.data_links([link("Board of this host", _HOST_BOARD)])


def _map() -> table.Panel:
    parts = f"{_of(outputs.SUBSYSTEM_SHARE, SUBSYSTEM)} * on (instance, job) group_left () {_of(outputs.SCORE, _FUSED)}"
    by_host = f'max by (host, subsystem) (label_replace({parts}, "host", "$1", "instance", "(.+?)(:[0-9]+)?"))'
    told = "Score times share: which subsystem makes a host unusual. From 0.5 on it alone is half of the bound."
    panel = rows("What is unusual where", [Query(by_host)], told, width=12)
    matrix(panel, row="host", column="subsystem")
    steps = colours.steps((CLEAR, None), ("#56B4E955", 0.1), (colours.SKY, 0.25), (WARN, 0.5), (BAD, 1.0))
    for subsystem in colours.SUBSYSTEMS:
        with_cells(panel, subsystem, steps, decimals=2)
    renamed(panel, {"host\\subsystem": "Host"})
    return panel.data_links([link("Board of this host", _HOST_BOARD)])


def _states() -> statetimeline.Panel:
    query = Query(state("instance"), "{{instance}}")
    return timeline("Episodes by host", query, verdict.states(CLEAR), "Open episodes, and those that page.", 8)


def _scores() -> timeseries.Panel:
    highest = Query(f"max by (instance) ({_of(outputs.SCORE, _FUSED)})", "{{instance}}")
    told = "The dashed line is the bound. A host whose score is beyond it at the end has the colour of that."
    panel = by_last_value(lines("Score of each host", [highest], "short", told, 12))
    return bounded(panel.min(0).axis_soft_max(1.2).decimals(1), (BAD, verdict.BOUND), below=GOOD)


def _alarms(severity: str) -> timeseries.Panel:
    which = f'severity="{severity}"'
    opened = Query(f"avg(increase({_of(outputs.EPISODES, which)}[1d]))", "opened", BAD)
    budget = Query(f"max({chosen.of(outputs.BUDGET, which, where=CLUSTER)})", "budget", GREY)
    told = "Episodes in the day before, as mean over hosts, and how many a healthy host may raise."
    return lines(f"Alarms per host-day: {severity}", [opened, budget], "short", told, 6).min(0).axis_soft_max(0.1)
