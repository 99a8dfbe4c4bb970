"""A board as a whole: what all boards share, and how one becomes the JSON that Grafana reads."""

from __future__ import annotations

from collections.abc import Iterable

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from catalog import outputs
from deploy.grafana import chosen, colours
from deploy.grafana.panels import SOURCE, AnyPanel

TAG = "hostpulse"
Variable = dashboard.DatasourceVariable | dashboard.QueryVariable | dashboard.CustomVariable


def board(name: str, title: str, question: str, variables: Iterable[Variable] = ()) -> dashboard.Dashboard:
    """A board that answers ``question``; ``variables`` come after data source, cluster and job, before subsystem."""
    built = (
        dashboard.Dashboard(f"hostpulse: {title}")
        .uid(f"hostpulse-{name}")
        .description(question)
        .tags([TAG])
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("5s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(_boards())
    )
    for variable in (chosen.source(), chosen.cluster(), chosen.job(), *variables, chosen.subsystem()):
        built.with_variable(variable)
    return built


def row(
    to: dashboard.Dashboard, title: str, panels: Iterable[AnyPanel], *, collapsed: bool = False
) -> dashboard.Dashboard:
    """Add a row; a collapsed one asks nothing until somebody opens it."""
    if collapsed:
        closed = dashboard.Row(title).collapsed(True)
        for panel in panels:
            closed.with_panel(panel)
        return to.with_row(closed)
    to.with_row(dashboard.Row(title))
    for panel in panels:
        to.with_panel(panel)
    return to


def mark_episodes(on: dashboard.Dashboard) -> dashboard.Dashboard:
    """Each time in which an episode of a chosen subsystem is open, marked in all panels."""
    expression = f"max by (instance, subsystem) ({chosen.of(outputs.ACTIVE, chosen.SUBSYSTEM)}) == 1"
    marks = dashboard.AnnotationQuery().name("Episodes").datasource(SOURCE).enable(True).icon_color(colours.WARN)
    query = Dataquery().ref_id("Anno").expr(expression).datasource(SOURCE)
    return on.annotation(
        marks.target(query)
        .expr(expression)
        .step("15s")
        .title_format("Episode: {{subsystem}}")
        .text_format("{{instance}}")
        .tag_keys("subsystem")
    )


def link(title: str, url: str) -> dashboard.DashboardLink:
    """Where a click on a value leads."""
    return dashboard.DashboardLink(title).type(models.DashboardLinkType.LINK).url(url)


def as_json(of: dashboard.Dashboard) -> str:
    """The board with each panel numbered, and no room kept for what folded rows hide."""
    built = of.build()
    numbers = iter(range(1, 10_000))
    hidden = 0
    for panel in built.panels or []:
        inside = (panel.panels or []) if isinstance(panel, models.RowPanel) else []
        for one in (panel, *inside):
            one.id_val = next(numbers)
            _place(one).y -= hidden
        if inside:
            hidden += max(_place(one).y + _place(one).h for one in inside) - (_place(panel).y + 1)
    return JSONEncoder(sort_keys=True, indent=2).encode(built) + "\n"


def _place(panel: models.Panel | models.RowPanel) -> models.GridPos:
    assert panel.grid_pos is not None, f"{panel.title} was not placed"
    return panel.grid_pos


def _boards() -> dashboard.DashboardLink:
    """All boards of hostpulse, with the same host and time."""
    menu = dashboard.DashboardLink("Boards").type(models.DashboardLinkType.DASHBOARDS).tags([TAG])
    return menu.as_dropdown(True).include_vars(True).keep_time(True)
