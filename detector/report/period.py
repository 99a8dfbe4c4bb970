"""The report of a period: its incidents, and their pattern, which is what dominates the anomalies of an environment."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from catalog.series import parse_series
from detector.incidents.ask import Span
from detector.incidents.incident import Incident
from detector.readable import duration
from detector.report.document import Bars, Block, Link, Prose, Report, Section, Table, moment

_MOST_ROWS = 200
_MOST_SIGNALS = 15


def report_of_period(incidents: Sequence[Incident], span: Span) -> Report:
    """The incidents, oldest first, of one host or of all."""
    pattern = _pattern(incidents)
    sections = [Section("Incidents", (_table(incidents),))] if incidents else []
    if incidents:
        sections.append(Section("What dominates", tuple(_dominates(pattern))))
    who = span.instance or "All hosts"
    data = {
        "instance": span.instance,
        "from": _finite(span.from_s),
        "to": _finite(span.to_s),
        "pattern": pattern,
        "incidents": [incident.as_json() for incident in incidents],
    }
    return Report(f"{who}: {_when(span)}", _lead(incidents, who), tuple(sections), data)


def _when(span: Span) -> str:
    if math.isfinite(span.from_s) and math.isfinite(span.to_s):
        return f"{moment(span.from_s)} to {moment(span.to_s)}"
    if math.isfinite(span.from_s):
        return f"since {moment(span.from_s)}"
    return f"until {moment(span.to_s)}" if math.isfinite(span.to_s) else "incidents"


def _lead(incidents: Sequence[Incident], who: str) -> str:
    if not incidents:
        return "No incident is known of that time."
    count, pages = len(incidents), sum(incident.page for incident in incidents)
    hosts = len({incident.instance for incident in incidents})
    on = f" on {hosts} hosts" if hosts > 1 else ""
    lasted = duration(sum(incident.until_s - incident.onset_s for incident in incidents))
    return f"{who}: {count} incident{'s' * (count != 1)}{on}, {pages} worth a page, {lasted} in all."


def _table(incidents: Sequence[Incident]) -> Table:
    rows = tuple(
        (
            Link(moment(incident.onset_s), "report?" + urlencode({"incident": incident.id})),
            incident.instance,
            "still open" if incident.end_s is None else duration(incident.end_s - incident.onset_s),
            f"{incident.peak:.2f}" + (", page" if incident.page else ""),
            incident.subsystem,
            incident.signatures[0].title if incident.signatures else "–",
        )
        for incident in reversed(incidents[-_MOST_ROWS:])
    )
    return Table(("began", "host", "lasted", "highest score", "subsystem", "most likely"), rows)


def _pattern(incidents: Iterable[Incident]) -> Mapping[str, Mapping[str, float]]:
    """Parts, which sum to 1, of the anomalies that subsystems, signals and causes have; each incident counts once."""
    parts: dict[str, dict[str, float]] = {name: defaultdict(float) for name in ("subsystems", "signals", "causes")}
    for incident in incidents:
        for subsystem, share in incident.shares.items():
            parts["subsystems"][subsystem] += share
        sizes = {parse_series(cause.channel).name: abs(cause.deviation) for cause in reversed(incident.features)}
        for name, size in sizes.items():
            parts["signals"][name] += size / (sum(sizes.values()) or 1.0)
        parts["causes"][incident.signatures[0].name if incident.signatures else "unknown"] += 1.0
    return {name: _as_parts(sizes) for name, sizes in parts.items()}


def _as_parts(sizes: Mapping[str, float]) -> dict[str, float]:
    whole = sum(sizes.values())
    ordered: list[tuple[str, float]] = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: size / whole for name, size in ordered} if whole else {}


def _dominates(pattern: Mapping[str, Mapping[str, float]]) -> Iterator[Block]:
    yield Prose("Parts of the anomalies by subsystem; each incident counts once, however long it lasted.")
    yield Bars(tuple(pattern["subsystems"].items()))
    yield Prose("By signal, as far as it was among what moved most:")
    rows = tuple((name, f"{part:.0%}") for name, part in list(pattern["signals"].items())[:_MOST_SIGNALS])
    yield Table(("signal", "part"), rows)
    yield Prose("By what is most likely behind them:")
    yield Table(("cause", "part"), tuple((name, f"{part:.0%}") for name, part in pattern["causes"].items()))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
