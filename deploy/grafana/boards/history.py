"""The board for whoever plans capacity: months of each subsystem, from the recording rules.

What is recorded, and what it costs, is in ``catalog.capacity``.
"""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.builders import dashboard, stat, timeseries

from catalog.capacity import RECORDS, SUMMARIES, VERDICTS, summary_hours
from catalog.family import Subsystem
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Worse
from deploy.grafana import chosen, colours
from deploy.grafana.board import board as new_board
from deploy.grafana.board import row
from deploy.grafana.chosen import HOST, SUBSYSTEM
from deploy.grafana.colours import BAD, GOOD, SKY, WARN
from deploy.grafana.panels import Query, lines, named_colours, number
from deploy.grafana.signals import UNITS, headed, in_words

SHOWN = {  # subsystem -> records that every host has
    "cpu": ("cpu_used_ratio", "cpu_pressure_ratio", "cpu_running_tasks"),
    "memory": ("memory_used_ratio", "memory_pressure_ratio", "memory_swap_used_bytes"),
    "network": (
        "network_receive_bytes_per_second",
        "network_transmit_bytes_per_second",
        "network_tcp_retransmission_ratio",
    ),
    "storage": ("storage_busy_ratio", "storage_written_bytes_per_second", "storage_filesystem_available_ratio"),
}
_AHEAD_S = 30 * 86400


def board() -> dashboard.Dashboard:
    """How full, how contended and how faulty has the hardware been, and where does that lead?"""
    question = "How full, how contended and how faulty has the hardware been for weeks, and where does that lead?"
    built = new_board("history", "hardware history", question, (chosen.hosts(),))
    built.time("now-30d", "now").refresh("")
    row(built, "This month", (*_figures(), *map(_summary, SUMMARIES)))
    for subsystem, names in SHOWN.items():
        row(built, headed(subsystem), map(_record, names))
    row(built, "What the detector found", (_verdicts(),))
    for subsystem in JUDGED_SUBSYSTEMS:
        row(built, f"All other records of {subsystem}", _others(subsystem), collapsed=True)
    return built


def _of(name: str, *matchers: str) -> str:
    return name + "{" + ",".join((*matchers, HOST)) + "}"


def _figures() -> Iterator[stat.Panel]:
    used = summary_hours(Role.UTILISATION)
    mean = next(name for name in used if name.endswith("avg1h"))
    for subsystem in (Subsystem.CPU, Subsystem.MEMORY):
        of_it = _of(mean, f'subsystem="{subsystem}"')
        expression = f"avg(avg_over_time({of_it}[$__range]))"
        told = "Mean over the hosts and the time shown."
        yield number(f"{headed(subsystem)} used", expression, told, "percentunit").decimals(0)
    least = RECORDS["storage_filesystem_available_ratio"]
    (room,) = (name for name in least.hours if name.endswith("min1h"))
    now = number("Least room", f"min({_of(room)})", "The fullest filesystem of all hosts.", "percentunit")
    yield now.decimals(0).thresholds(colours.steps((BAD, None), (WARN, 0.1), (GOOD, 0.2)))
    ahead = f"clamp_min(min(predict_linear({_of(room)}[$__range], {_AHEAD_S})), 0)"
    told = "The fullest filesystem in 30 days, if all goes on as in the time shown."
    then = number("Least room in 30 days", ahead, told, "percentunit")
    yield then.decimals(0).thresholds(colours.steps((BAD, None), (WARN, 0.1), (GOOD, 0.2)))
    pressed = next(iter(RECORDS["cpu_pressure_ratio"].hours))
    busiest = f"max(quantile_over_time(0.95, {_of(pressed)}[$__range]))"
    yield number("Most pressed CPUs", busiest, "95th percentile of the hours of one host.", "percentunit").decimals(0)
    active = f"avg(sum by (instance) (avg_over_time({_of(_verdict('anomaly_active:avg1h'))}[$__range]))) * 24"
    yield number("Hours unusual a day", active, "Time with an open episode, mean of the hosts.", "h")


def _summary(role: Role) -> timeseries.Panel:
    (mean,) = (name for name in summary_hours(role) if name.endswith("avg1h"))
    titles = {Role.UTILISATION: "How full", Role.SATURATION: "Share of time that something waited"}
    errors = role is Role.ERROR
    told = "Errors in each hour of all hosts." if errors else "Mean of the hosts, hour by hour."
    told_of = _of(mean, SUBSYSTEM)
    expression = f"sum by (subsystem) ({told_of}) * 3600" if errors else f"avg by (subsystem) ({told_of})"
    unit = "short" if errors else "percentunit"
    panel = lines(titles.get(role, "Errors an hour"), [Query(expression, "{{subsystem}}")], unit, told)
    return named_colours(panel.min(0), colours.SUBSYSTEMS)


def _record(name: str) -> timeseries.Panel:
    """One record: the mean of the hosts, and the bad end of the worst."""
    record = RECORDS[name]
    mean, *bad = record.hours
    queries = [Query(f"avg({_of(mean)})", "mean of the hosts", SKY)]
    worst = "min" if record.worse is Worse.LOWER else "max"
    queries += [
        Query(f"{worst}({_of(one)})", f"worst host, {_operation(one)}", WARN) for one in bad if "p" in _operation(one)
    ]
    title = headed(in_words(name, record.subsystem))
    return lines(title, queries, UNITS[record.unit], record.help)


def _operation(name: str) -> str:
    """``p95`` of ``instance:…:p95_1h``."""
    return name.rpartition(":")[2].removesuffix("1h").rstrip("_")


def _verdicts() -> timeseries.Panel:
    expression = f"avg by (subsystem) ({_of(_verdict('anomaly_active:avg1h'), SUBSYSTEM)})"
    told = "Share of each hour in which an episode was open, mean of the hosts, by what it is blamed on."
    panel = lines("Time with an open episode", [Query(expression, "{{subsystem}}")], "percentunit", told, 24)
    return named_colours(panel.min(0), colours.SUBSYSTEMS)


def _verdict(ending: str) -> str:
    (name,) = (name for name in VERDICTS if name.endswith(ending))
    return name


def _others(subsystem: str) -> Iterator[timeseries.Panel]:
    for name, record in RECORDS.items():
        if record.subsystem == subsystem and name not in SHOWN.get(subsystem, ()):
            yield _record(name)
