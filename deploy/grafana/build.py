"""The Grafana board of one host, built from the catalog, so that no metric's name is typed twice.

One row of verdicts, then one row for each subsystem with a panel for each unit, trouble before load.
Builders: https://grafana.github.io/grafana-foundation-sdk/.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from grafana_foundation_sdk.builders import common, dashboard, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models

from catalog import FAMILIES, SIGNALS, outputs
from catalog.outputs import Output
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Signal

HOST = 'instance="$instance"'
WINDOW = "$__rate_interval"
UNITS = {  # unit of a signal -> what Grafana calls it
    "": "short",
    "1/s": "cps",
    "B": "bytes",
    "B/s": "Bps",
    "W": "watt",
    "pages": "short",
    "ratio": "percentunit",
    "s": "s",
    "°C": "celsius",
    "Hz": "hertz",
}
_WIDTH, _HEIGHT = 8, 8
_BOUND = 1.0
_SOURCE = options.DataSourceRef(type_val="prometheus", uid="${datasource}")

Panel = TypeVar("Panel", stat.Panel, timeseries.Panel, statetimeline.Panel)
Query = tuple[str, str]  # expression, legend


def host_board() -> str:
    """The board as JSON."""
    board = (
        dashboard.Dashboard("hostpulse: one host")
        .uid("hostpulse-host")
        .description("Is this host's hardware behaving as it always does, and if not, what does not?")
        .tags(["hostpulse"])
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("5s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").type("prometheus").label("Data source"))
        .with_variable(
            dashboard.QueryVariable("instance")
            .label("Host")
            .datasource(_SOURCE)
            .query(f"label_values({outputs.WINDOW_END.name}, instance)")
            .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(models.VariableSort.NATURAL_ASC)
        )
    )
    board.with_row(dashboard.Row("Verdict"))
    for verdict in (*_numbers(), _scores(), _shares(), _episodes()):
        board.with_panel(verdict)
    for subsystem in JUDGED_SUBSYSTEMS:
        panels = list(_signal_panels(subsystem))
        if panels:
            board.with_row(dashboard.Row(subsystem.upper() if len(subsystem) == 3 else subsystem.capitalize()))
        for panel in panels:
            board.with_panel(panel)
    built = board.build()
    for number, panel_or_row in enumerate(built.panels or [], 1):
        panel_or_row.id_val = number
    return JSONEncoder(sort_keys=True, indent=2).encode(built) + "\n"


def _of(output: Output, *matchers: str) -> str:
    """One output of the detector for the chosen host."""
    return output.name + "{" + ",".join((HOST, *matchers)) + "}"


def _numbers() -> Iterator[stat.Panel]:
    score = _number("Score", _of(outputs.SCORE, 'detector="fused"'), "1 is the bound.").decimals(2)
    yield score.thresholds(_steps(("green", None), ("orange", 0.7), ("red", _BOUND))).graph_mode(
        options.BigValueGraphMode.AREA
    )
    active = f"sum({_of(outputs.ACTIVE)}) + sum({_of(outputs.PAGE)})"
    state = _number("State", active, "Whether an episode is open, and at which budget.")
    yield state.mappings([_names(quiet="green", anomaly="orange", page="red")]).thresholds(
        _steps(("green", None), ("orange", 1.0), ("red", 2.0))
    )
    agreement = _number("Detectors over their bound", _of(outputs.AGREEMENT), "Of deviation, subspace and forest.")
    yield agreement.thresholds(_steps(("green", None), ("orange", 1.0), ("red", 3.0)))
    model = f"{_of(outputs.PROVISIONAL)} + 2 * {_of(outputs.FROZEN)}"
    told = "Provisional: the bound still rests on little data. Frozen: an open episode stops learning."
    yield (
        _number("Model", model, told)
        .mappings([_names(calibrated="green", provisional="blue", frozen="orange", provisional_frozen="orange")])
        .thresholds(_steps(("green", None)))
    )
    covered = _number("Features with data", _of(outputs.COVERAGE), "Part of what the model knows that has data now.")
    yield covered.unit("percentunit").thresholds(_steps(("red", None), ("orange", 0.5), ("green", 0.8)))
    lag = _number("Behind", _of(outputs.WINDOW_LAG), "From the end of a window to its verdict.")
    yield lag.unit("s").decimals(2).thresholds(_steps(("green", None), ("orange", 2.0), ("red", 10.0)))


def _scores() -> timeseries.Panel:
    panel = _lines("Score of each detector", [(_of(outputs.SCORE), "{{detector}}")], "short", width=12)
    bound = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
    return (
        panel.description("The dashed line is the bound, 1 for every detector and every host.")
        .thresholds(_steps(("transparent", None), ("red", _BOUND)))
        .thresholds_style(bound)
        .axis_soft_max(1.2)
        .min(0)
    )


def _shares() -> timeseries.Panel:
    panel = _lines(
        "Share of each subsystem", [(_of(outputs.SUBSYSTEM_SHARE), "{{subsystem}}")], "percentunit", width=12
    )
    stacked = common.StackingConfig().mode(options.StackingMode.NORMAL)
    return panel.stacking(stacked).fill_opacity(40).min(0).max(1).description("What the anomaly is made of.")


def _episodes() -> statetimeline.Panel:
    shown = f"max by (subsystem) ({_of(outputs.ACTIVE)}) + max by (subsystem) ({_of(outputs.PAGE)})"
    return (
        _placed(statetimeline.Panel(), "Episodes", [(shown, "{{subsystem}}")], "short", width=24, height=7)
        .description("The subsystem that an open episode is blamed on.")
        .mappings([_names(quiet="transparent", anomaly="orange", page="red")])
        .thresholds(_steps(("transparent", None), ("orange", 1.0), ("red", 2.0)))
        .show_value(options.VisibilityMode.NEVER)
    )


def _signal_panels(subsystem: str) -> Iterator[timeseries.Panel]:
    """The subsystem's signals, one panel for each unit; what tells of trouble apart from what any load moves."""
    signals = sorted((signal for signal in SIGNALS.values() if signal.subsystem == subsystem), key=_panel_of)
    for (load, unit), group in groupby(signals, key=_panel_of):
        told = list(group)
        title = f"{'Load' if load else 'Trouble'}{f', {unit}' if unit else ''}"
        queries = [(signal.promql(WINDOW, HOST), _legend(signal)) for signal in told]
        help_text = "\n".join(f"- {_short(signal)}: {signal.help}" for signal in told)
        yield _lines(title, queries, UNITS[unit], _WIDTH).description(help_text)


def _panel_of(signal: Signal) -> tuple[bool, str]:
    return signal.role is Role.UTILISATION, signal.unit


def _short(signal: Signal) -> str:
    return re.sub(
        r"_(ratio|per_second|bytes|seconds|celsius|watts)$", "", signal.name.removeprefix(f"{signal.subsystem}_")
    )


def _legend(signal: Signal) -> str:
    """The signal's short name with the labels that its expression leaves."""
    expression = signal.promql(WINDOW)
    labels = {label for family in signal.expression.families() for label in FAMILIES[family].labels}
    for gone in re.findall(r"(?:without|ignoring) \(([^)]*)\)", expression):
        labels -= {label.strip() for label in gone.split(",")}
    labels -= set(re.findall(r'(\w+)="', expression))
    return " ".join([_short(signal).replace("_", " "), *(f"{{{{{label}}}}}" for label in sorted(labels))])


def _number(title: str, expression: str, description: str) -> stat.Panel:
    panel = _placed(stat.Panel(), title, [(expression, "")], "short", width=4, height=4)
    return panel.description(description).no_value("no data").graph_mode(options.BigValueGraphMode.NONE)


def _lines(title: str, queries: Iterable[Query], unit: str, width: int) -> timeseries.Panel:
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(options.LegendDisplayMode.LIST)
        .placement(options.LegendPlacement.BOTTOM)
        .calcs([])
    )
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)
    panel = _placed(timeseries.Panel(), title, queries, unit, width, _HEIGHT)
    return panel.legend(legend).tooltip(tooltip).line_width(1).fill_opacity(5).show_points(options.VisibilityMode.NEVER)


def _placed(panel: Panel, title: str, queries: Iterable[Query], unit: str, width: int, height: int) -> Panel:
    panel.title(title).unit(unit).span(width).height(height).datasource(_SOURCE)
    for reference, (expression, legend) in zip(_references(), queries, strict=False):
        query = Dataquery().ref_id(reference).expr(expression).datasource(_SOURCE)
        panel.with_target(query.legend_format(legend) if legend else query.instant())
    return panel


def _references() -> Iterator[str]:
    """A, B, … Z, AA, AB, …: what Grafana calls the queries of a panel."""
    letters = string.ascii_uppercase
    yield from letters
    yield from (first + second for first in letters for second in letters)


def _steps(*steps: tuple[str, float | None]) -> dashboard.ThresholdsConfig:
    thresholds = [models.Threshold(value, color) for color, value in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(thresholds)


def _names(**colors: str) -> models.ValueMap:
    """0, 1, 2, … shown as the given words in the given colours."""
    return models.ValueMap(
        {
            str(value): models.ValueMappingResult(text=name.replace("_", ", "), color=color, index=value)
            for value, (name, color) in enumerate(colors.items())
        }
    )
