"""The panels that boards are made of: numbers, lines, timelines, tables, all with unit, legend and readable colours.

Builders: https://grafana.github.io/grafana-foundation-sdk/.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from grafana_foundation_sdk.builders import bargauge, common, dashboard, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana import colours

SOURCE = options.DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH, HEIGHT = 8, 8
FULL = 24
SHORT = 4
NARROW = 4
_COLUMN_PX = 60
_LEAST_SHOWN = {"percentunit": 0.01, "cps": 1.0, "short": 1.0, "s": 0.001, "Bps": 1e3}
"""The axis reaches at least this far, so that nothing but zeros is not drawn on an axis up to 10 000 %."""

Panel = TypeVar("Panel", stat.Panel, timeseries.Panel, statetimeline.Panel, table.Panel, bargauge.Panel)
AnyPanel = stat.Panel | timeseries.Panel | statetimeline.Panel | table.Panel | bargauge.Panel


@dataclass(frozen=True, slots=True)
class Query:
    """What a panel asks: PromQL, and how its series are called."""

    expression: str
    legend: str = ""
    colour: str = ""
    """Of all its series, in shades; the panel's next colour where empty."""


def number(title: str, expression: str, description: str, unit: str = "short", *, legend: str = "") -> stat.Panel:
    """One figure as it is now, with the name of its series where ``legend`` is given."""
    panel = _placed(stat.Panel(), title, [Query(expression, legend)], unit, NARROW, SHORT, instant=True)
    if legend:
        panel.text_mode(options.BigValueTextMode.VALUE_AND_NAME)
    panel.description(description).no_value("no data").graph_mode(options.BigValueGraphMode.NONE)
    return panel.thresholds(colours.steps((colours.TEXT, None)))


def lines(title: str, queries: Iterable[Query], unit: str, description: str, width: int = WIDTH) -> timeseries.Panel:
    """Quantities over time, each query in its own colour."""
    queries = list(queries)
    panel = _placed(timeseries.Panel(), title, queries, unit, width, HEIGHT)
    palette = colours.one_after_another()
    for reference, query in zip(_references(), queries, strict=False):
        shade = colours.fixed(query.colour or next(palette), "shades")
        panel.override_by_query(reference, [shade])
    panel.description(description).legend(_legend()).tooltip(_tooltip()).line_width(1).fill_opacity(0)
    if unit in _LEAST_SHOWN:
        panel.axis_soft_min(0).axis_soft_max(_LEAST_SHOWN[unit])
    return panel.show_points(options.VisibilityMode.AUTO).span_nulls(False)


def named_colours(panel: timeseries.Panel, by_name: Mapping[str, str]) -> timeseries.Panel:
    """The panel with the colour of each series given by its name."""
    for name, colour in by_name.items():
        panel.override_by_name(name, [colours.fixed(colour)])
    return panel


def stacked(panel: timeseries.Panel) -> timeseries.Panel:
    """Parts that add up to 1."""
    panel.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL)).fill_opacity(45).line_width(0)
    return panel.min(0).max(1)


def bounded(panel: timeseries.Panel, *bounds: tuple[str, float], below: str = colours.CLEAR) -> timeseries.Panel:
    """The panel with a dashed line at each bound."""
    style = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
    return panel.thresholds(colours.steps((below, None), *bounds)).thresholds_style(style)


def by_last_value(panel: timeseries.Panel) -> timeseries.Panel:
    """The panel's first query with series in the colours of its bounds: too many to have a colour each."""
    colour = models.DynamicConfigValue("color", {"mode": _THRESHOLDS.value, "seriesBy": "last"})
    return panel.override_by_query(next(_references()), [colour])


def timeline(title: str, query: Query, states: models.ValueMap, description: str, height: int) -> statetimeline.Panel:
    """States over time, a line for each series."""
    panel = _placed(statetimeline.Panel(), title, [query], "short", FULL, height)
    panel.description(description).mappings([states]).show_value(options.VisibilityMode.NEVER).legend(_legend())
    panel.thresholds(colours.steps((colours.CLEAR, None))).color_scheme(dashboard.FieldColor().mode(_THRESHOLDS))
    return panel.tooltip(_tooltip()).row_height(0.8).fill_opacity(85).line_width(0).per_page(20)


def bars(title: str, query: Query, unit: str, description: str, width: int = WIDTH) -> bargauge.Panel:
    """One bar for each series, as it is now."""
    panel = _placed(bargauge.Panel(), title, [query], unit, width, HEIGHT, instant=True)
    panel.description(description).no_value("no data").orientation(options.VizOrientation.HORIZONTAL).min(0)
    panel.text(common.VizTextDisplayOptions().title_size(12).value_size(14))
    panel.color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(colours.SKY))
    return panel.display_mode(options.BarGaugeDisplayMode.GRADIENT)


def rows(title: str, queries: Iterable[Query], description: str, width: int = FULL, height: int = 10) -> table.Panel:
    """A table as of now; its columns are made by transformations."""
    panel = _placed(table.Panel(), title, queries, "short", width, height, instant=True)
    return panel.description(description).no_value("–").show_header(True).min_width(_COLUMN_PX)


_THRESHOLDS = models.FieldColorModeId.THRESHOLDS


def _placed(
    panel: Panel, title: str, queries: Iterable[Query], unit: str, width: int, height: int, *, instant: bool = False
) -> Panel:
    panel.title(title).unit(unit).span(width).height(height).datasource(SOURCE)
    for reference, asked in zip(_references(), queries, strict=False):
        query = Dataquery().ref_id(reference).expr(asked.expression).datasource(SOURCE)
        if asked.legend:
            query.legend_format(asked.legend)
        if instant:
            query.instant()
        if isinstance(panel, table.Panel):
            query.format(PromQueryFormat.TABLE)
        panel.with_target(query)
    return panel


def _legend() -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(True).display_mode(options.LegendDisplayMode.LIST)
    return legend.placement(options.LegendPlacement.BOTTOM).calcs([])


def _tooltip() -> common.VizTooltipOptions:
    return common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)


def _references() -> Iterator[str]:
    """A, B, … Z, AA, AB, …: what Grafana calls the queries of a panel."""
    letters = string.ascii_uppercase
    yield from letters
    yield from (first + second for first in letters for second in letters)
