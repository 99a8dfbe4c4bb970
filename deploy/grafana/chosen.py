"""What a board is about: its variables, and the PromQL that stands for what is chosen by them.

A host is its name without the port, so that all exporters of one host are found.
https://grafana.com/docs/grafana/latest/dashboards/variables/.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from catalog.families import cpu, exporter, gpu
from catalog.family import Family
from catalog.outputs import ACTIVE, ADDRESS_INFO, PAGE, WINDOW_END, Output
from deploy.grafana import colours
from deploy.grafana.panels import SOURCE

WINDOW = "$__rate_interval"
CLUSTER = 'cluster=~"$cluster"'
JOB = CLUSTER + ',job=~"$job"'
HOST = JOB + ',instance=~"$instance(:[0-9]+)?"'
SUBSYSTEM = 'subsystem=~"$subsystem"'
ANY_HOST = (exporter.BUILD_INFO, cpu.SECONDS)
ANY_GPU = (gpu.TEMPERATURE_CELSIUS,)
_WITHOUT_PORT = "/^(.+?)(?::[0-9]+)?$/"
_ALL = models.VariableOption(selected=True, text="All", value="$__all")


def of(output: Output, *matchers: str, where: str = HOST) -> str:
    """One output of the detector for what is chosen."""
    return output.name + "{" + ",".join((*matchers, where)) + "}"


def state(by: str) -> str:
    """0 where all is quiet, 1 where an episode of a chosen subsystem is open, 2 where it pages."""
    return f"max by ({by}) ({of(ACTIVE, SUBSYSTEM)}) + max by ({by}) ({of(PAGE, SUBSYSTEM)})"


def source() -> dashboard.DatasourceVariable:
    """Which Prometheus."""
    return dashboard.DatasourceVariable("datasource").type("prometheus").label("Data source")


def cluster() -> dashboard.QueryVariable:
    """Which clusters; all where there is no such label."""
    return several("cluster", "Cluster", f"label_values({any_name_of(*ANY_HOST)}, cluster)")


def job() -> dashboard.QueryVariable:
    """Which scrape jobs."""
    return several("job", "Job", f"label_values({any_name_of(*ANY_HOST, where=CLUSTER)}, job)")


def host(*seen_by: Family) -> dashboard.QueryVariable:
    """Which host, of those that have the families under any name."""
    query = f"label_values({any_name_of(*seen_by, where=JOB)}, instance)"
    return _asked("instance", "Host", query).regex(_WITHOUT_PORT)


def judged_host() -> dashboard.QueryVariable:
    """Which host, of those that the detector judges."""
    return _asked("instance", "Host", f"label_values({of(WINDOW_END, where=JOB)}, instance)").regex(_WITHOUT_PORT)


def hosts() -> dashboard.QueryVariable:
    """Which hosts; all to begin with."""
    query = f"label_values({any_name_of(*ANY_HOST, where=JOB)}, instance)"
    return several("instance", "Hosts", query).regex(_WITHOUT_PORT)


def subsystem() -> dashboard.CustomVariable:
    """Which subsystems; all to begin with."""
    every = dashboard.CustomVariable("subsystem").label("Subsystem").values(",".join(colours.SUBSYSTEMS))
    return every.multi(True).include_all(True).all_value(".*").current(_ALL)


def detector() -> dashboard.QueryVariable:
    """Where the detector of the chosen host serves its reports."""
    found = f"label_values({of(ADDRESS_INFO)}, url)"
    return _asked("detector", "Detector's address", found).hide(models.VariableHide.HIDE_VARIABLE)


def judged() -> dashboard.QueryVariable:
    """The chosen host as the detector calls it, with its port."""
    found = f"label_values({of(WINDOW_END)}, instance)"
    return _asked("judged", "Host as judged", found).hide(models.VariableHide.HIDE_VARIABLE)


def any_name_of(*families: Family, where: str = "") -> str:
    """Series of any of these families, in hostpulse's name or in another exporter's."""
    told = "|".join(name for family in families for name in (family.name, *(alias.name for alias in family.aliases)))
    return "{" + ",".join(filter(None, (f'__name__=~"{told}"', where))) + "}"


def _asked(name: str, label: str, query: str) -> dashboard.QueryVariable:
    variable = dashboard.QueryVariable(name).label(label).datasource(SOURCE).query(query)
    variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    return variable.sort(models.VariableSort.NATURAL_ASC)


def several(name: str, label: str, query: str) -> dashboard.QueryVariable:
    """Which of what the query finds; all to begin with."""
    return _asked(name, label, query).multi(True).include_all(True).all_value(".*").current(_ALL)
