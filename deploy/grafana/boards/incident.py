"""The board of one incident: what happened when, in which subsystem, what changed, and whether other hosts have it too.

Open it over the time of the incident: the figures are those of its end, the extremes those of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grafana_foundation_sdk.builders import bargauge, dashboard, stat, table, timeseries
from grafana_foundation_sdk.models import dashboard as models

from catalog import outputs
from catalog.capacity import SUMMARIES, summary_minute
from catalog.outputs import Output
from catalog.signal import Role
from deploy.grafana import chosen, colours, verdict
from deploy.grafana.board import board as new_board
from deploy.grafana.board import mark_episodes, row
from deploy.grafana.chosen import HOST, JOB, SUBSYSTEM, of, state
from deploy.grafana.colours import BAD, GOOD, WARN
from deploy.grafana.panels import Query, bars, bounded, lines, named_colours, number, rows
from deploy.grafana.tables import joined, renamed, sorted_by, wide

_MOST = 12
_KEY = "key"
_SIGNAL_PX = 480
_REPORT = "${detector}/report?instance=${judged}&at=${__to:date:seconds}"
_FUSED = 'detector="fused"'


def board() -> dashboard.Dashboard:
    """What happened on this host, when, and in what?"""
    question = "What happened on this host, when, in which subsystem, and do other hosts have it too?"
    variables = (chosen.judged_host(), chosen.judged(), chosen.detector())
    built = new_board("incident", "an incident", question, variables)
    built.link(dashboard.DashboardLink("Report").type(models.DashboardLinkType.LINK).url(_REPORT).target_blank(True))
    mark_episodes(built)
    row(built, "What happened", (*_figures(), verdict.scores(), verdict.shares(), verdict.episodes(), _causes()))
    row(built, "What changed", (_changed("More"), _changed("Less"), *map(_summary, SUMMARIES)))
    row(built, "Other hosts", (_hosts(), _common()))
    return built


def _figures() -> Iterator[stat.Panel]:
    highest = f"max(max_over_time({of(outputs.SCORE, _FUSED)}[$__range]))"
    score = number("Highest score", highest, "In the time shown; 1 is the bound.").decimals(1)
    yield score.thresholds(colours.steps((GOOD, None), (WARN, 0.7), (BAD, verdict.BOUND)))
    active, page = (of(output, SUBSYSTEM) for output in (outputs.ACTIVE, outputs.PAGE))
    worst = f"max(max_over_time({active}[$__range])) + max(max_over_time({page}[$__range]))"
    reached = number("At its worst", worst, "The most that an episode reached in the time shown.")
    yield reached.mappings([verdict.states()]).thresholds(colours.steps((GOOD, None), (WARN, 1.0), (BAD, 2.0)))
    yield _leading()
    lasted = f"max(avg_over_time({active}[$__range])) * $__range_s"
    yield number("Open for", lasted, "Of the time shown, with an episode of one subsystem open.", "s").decimals(0)
    over = number(
        "Detectors over their bound", f"max(max_over_time({of(outputs.AGREEMENT)}[$__range]))", "At most, at one time."
    )
    yield over.thresholds(colours.steps((GOOD, None), (WARN, 1.0), (BAD, 3.0)))
    yield number("State at the end", state("instance"), "At the end of the time shown.").mappings([verdict.states()])


def _leading() -> stat.Panel:
    mean = f"avg by (subsystem) (avg_over_time({of(outputs.SUBSYSTEM_SHARE)}[$__range]))"
    told = "The subsystem with the largest share over the time shown."
    panel = number("Most of it in", f"topk(1, {mean})", told, "percentunit", legend="{{subsystem}}")
    return panel.decimals(0)


def _causes() -> table.Panel:
    which = ("rank", "channel", "statistic")
    actual = f"max by ({_KEY}, {', '.join(which)}, unit) ({_keyed(outputs.CAUSE_ACTUAL, which)})"
    typical = f"max by ({_KEY}) ({_keyed(outputs.CAUSE_TYPICAL, which)})"
    told = "The signals that moved most in episodes of the time shown, in their own units; empty without an episode."
    panel = rows("What moved most", map(Query, (actual, typical)), told, height=7)
    joined(panel, _KEY)
    columns = {"rank": "Rank", "channel": "Signal", "statistic": "Statistic", "unit": "Unit"}
    renamed(panel, columns | {"Value #A": "Then", "Value #B": "Usual"}, without=(_KEY,))
    sorted_by(panel, "Rank", descending=False)
    wide(panel, "Signal", _SIGNAL_PX)
    return panel


def _keyed(output: Output, labels: Iterable[str]) -> str:
    """The last of each series in the time shown, with a label that stands for several."""
    several = ", ".join(f'"{label}"' for label in labels)
    return f'label_join(last_over_time({of(output)}[$__range]), "{_KEY}", " ", {several})'


def _changed(which: str) -> bargauge.Panel:
    """Records of the subsystems that are furthest from their mean of the hour before the end."""
    now = _recorded("avg1m")
    usual = f"({_recorded('avg1h')} > 0)"
    ratio = f"({now} / on (instance, record) {usual})"
    more = which == "More"
    chosen_few = f"sort_desc(topk({_MOST}, {ratio} > 1))" if more else f"sort(bottomk({_MOST}, {ratio} < 1))"
    told = f"Minute's means {which.lower()} than the hour's at the end of the time shown, as multiples of it."
    panel = bars(f"{which} than in the hour before", Query(chosen_few, "{{record}}"), "suffix:×", told, 12)
    colour = WARN if more else colours.SKY
    return (
        panel.decimals(2)
        .min(0)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(colour))
    )


def _recorded(operation: str) -> str:
    """All records of the subsystems, their names as label ``record``."""
    every = f'{{__name__=~"instance:${{subsystem}}_.+:{operation}",{HOST}}}'
    return f'label_replace({every}, "record", "$1", "__name__", "instance:(.+):{operation}")'


def _summary(role: Role) -> timeseries.Panel:
    titles = {Role.UTILISATION: "How full", Role.SATURATION: "Share of time that something waited"}
    expression = f"{summary_minute(role)}{{{SUBSYSTEM},{HOST}}}"
    unit = "cps" if role is Role.ERROR else "percentunit"
    query = Query(expression, "{{subsystem}}")
    panel = lines(titles.get(role, "Errors"), [query], unit, "Means of a minute, by subsystem.")
    return named_colours(panel.min(0), colours.SUBSYSTEMS)


def _hosts() -> timeseries.Panel:
    scores = _fleet(outputs.SCORE, _FUSED)
    queries = [
        Query(f"max({scores})", "highest", BAD),
        Query(f"quantile(0.9, {scores})", "p90", WARN),
        Query(f"quantile(0.5, {scores})", "median", colours.SKY),
    ]
    told = "Of all hosts. Where the median rises too, the cause is not this host."
    return bounded(lines("Scores of all hosts", queries, "short", told, 12).min(0).axis_soft_max(1.2), (BAD, 1.0))


def _common() -> timeseries.Panel:
    told = "Hosts with an open episode at the same time, by the subsystem that it is blamed on."
    query = Query(f"sum by (subsystem) ({_fleet(outputs.ACTIVE, SUBSYSTEM)})", "{{subsystem}}")
    panel = lines("Hosts with an episode", [query], "short", told, 12).min(0).axis_soft_max(1).decimals(0)
    return named_colours(panel, colours.SUBSYSTEMS)


def _fleet(output: Output, *matchers: str) -> str:
    return of(output, *matchers, where=JOB)
