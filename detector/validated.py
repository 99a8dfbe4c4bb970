"""What ``validate`` found, as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from catalog.duration import format_duration
from detector.described import names
from detector.discovery import Described
from detector.readable import quantity
from detector.schedule import LEAST_SAMPLES
from detector.validation import Report


def as_text(report: Report) -> str:
    """Settings, hosts with their windows, costs, alarms, notes; problems are told apart from it."""
    return "".join(f"{line}\n" for line in _lines(report))


def as_json(report: Report) -> dict[str, Any]:
    """All of it as JSON can hold it."""
    return {
        "settings": dict(report.given),
        "source": report.address,
        "hosts": [
            {
                "instance": one.host.instance,
                "job": one.host.job,
                "trouble": one.trouble,
                "series": one.series,
                "channels": one.channels,
                "interval_s": None if one.trouble else one.interval_s,
                "window_s": None if one.trouble else one.window_s,
                "stride_s": None if one.trouble else one.stride_s,
            }
            for one in report.hosts
        ],
        "costs": [{**asdict(cost), "host": cost.host.instance} for cost in report.costs],
        "series_written": report.series,
        "alarms_per_day": dict(report.alarms_per_day),
        "notes": report.notes,
        "problems": report.problems,
    }


def _lines(report: Report) -> Iterator[str]:
    yield "settings that are not the default:" if report.given else "all settings are the default"
    yield from (f"  {key}: {value}" for key, value in report.given.items())
    good = [one for one in report.hosts if not one.trouble]
    yield f"{len(good)} of {len(report.hosts)} hosts at {report.address} can be judged"
    if good:
        series, channels = (sum(getattr(one, what) for one in good) for what in ("series", "channels"))
        yield f"  {series} series found, which make {channels} channels"
    by_interval: dict[tuple[float, float, float], list[Described]] = {}
    for one in good:
        by_interval.setdefault((round(one.interval_s, 1), one.window_s, one.stride_s), []).append(one)
    for spans_s, hosts in sorted(by_interval.items()):
        interval, window, stride = map(format_duration, spans_s)
        yield f"  {names(hosts)}: sampled every {interval}, judged in windows of {window}, a new one every {stride}"
    if by_interval:
        yield f"  (a window holds {LEAST_SAMPLES} samples at least, and a stride one: rarer samples widen both)"
        yield from _costs(report)
    yield from (f"note: {note}" for note in report.notes)


def _costs(report: Report) -> Iterator[str]:
    cores = sum(cost.cpu_s / cost.stride_s for cost in report.costs)
    memory = quantity(sum(cost.memory_bytes for cost in report.costs), "B")
    longest_ms = 1e3 * max(cost.read_s for cost in report.costs)
    yield "expected cost"
    yield f"  CPU: {quantity(cores, 'ratio')} of a core, without fits; reading a host took {longest_ms:.0f} ms"
    yield f"  memory: {memory} for what is learned and read, besides that of the program"
    yield f"  series published: {report.series}"
    warnings, pages = (f"{report.alarms_per_day[kind]:g}" for kind in ("warning", "page"))
    yield f"expected alarms of healthy hosts, by the budget: {warnings} warnings and {pages} pages a day in all"
