"""Which report answers a question, and in which form: the same for the web page and the command."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import orjson

from detector.diagnosis.library import signatures
from detector.incidents.ask import AskError, Span, asked_span, parse_time
from detector.incidents.incident import Incident
from detector.incidents.store import IncidentStore
from detector.report.document import Report
from detector.report.html import as_html
from detector.report.incident import report_of
from detector.report.markdown import as_markdown
from detector.report.period import report_of_period

FIELDS = ("incident", "instance", "at", "from", "to", "format")
_EXCLUDES: Mapping[str, Sequence[str]] = {
    "incident": ("instance", "at", "from", "to", "beside", "recording"),
    "at": ("from", "to", "beside", "recording"),
}
_NEAR_S = 3600.0
_LEAD_S = 120.0  # an alert fires a while after the onset, and this much earlier by a clock that is off


class NotFoundError(Exception):
    """There is no such incident."""


def _as_json(report: Report) -> str:
    return orjson.dumps(report.data, option=orjson.OPT_SERIALIZE_NUMPY).decode() + "\n"


FORMATS: Mapping[str, tuple[str, Callable[[Report], str]]] = {
    "html": ("text/html; charset=utf-8", as_html),
    "md": ("text/markdown; charset=utf-8", as_markdown),
    "json": ("application/json", _as_json),
}


def answer(store: IncidentStore, fields: Mapping[str, str]) -> Report:
    """The report of the incident that is named, or is nearest ``at`` a time or in the hour before, else of the period.

    Raises:
        AskError: a field is wrong, or two ask for different things.
        NotFoundError: no incident has that id.
    """
    check_together(fields)
    if fields.get("incident"):
        incident = store.get(fields["incident"])
        if incident is None:
            raise NotFoundError(f"incident: none, or more than one, is called {fields['incident'][:80]!a}")
        return report_of(incident, signatures())
    span = asked_span(fields, store.instances())
    if fields.get("at"):
        at_s = parse_time(fields["at"], "at")
        nearest = _nearest(store, span.instance, at_s)
        if nearest is not None:
            return report_of(nearest, signatures())
        span = Span(span.instance, at_s - _NEAR_S, at_s + _NEAR_S)
    return report_of_period(store.select(span.instance, span.from_s, span.to_s), span)


def check_together(fields: Mapping[str, str], dashes: str = "") -> None:
    """Raises AskError where two fields ask for different things; ``dashes`` stand before their names."""
    for name, others in _EXCLUDES.items():
        wrong = " and ".join(f"{dashes}{other}" for other in others if fields.get(other))
        if fields.get(name) and wrong:
            right = " and ".join(f"{dashes}{other}" for other in ("instance", "format") if other not in others)
            raise AskError(f"{dashes}{name}: cannot be asked for together with {wrong}, only with {right}")


def rendering(fields: Mapping[str, str], default: str) -> tuple[str, Callable[[Report], str]]:
    """Content type and writer of the format that is asked for. Raises AskError."""
    chosen = fields.get("format") or default
    if chosen not in FORMATS:
        raise AskError(f"format: must be one of {', '.join(FORMATS)}")
    return FORMATS[chosen]


def _nearest(store: IncidentStore, instance: str, at_s: float) -> Incident | None:
    """The incident in whose time ``at_s`` lies, else the one that is least far from it."""

    def distance_s(incident: Incident) -> float:
        until_s = math.inf if incident.end_s is None else incident.end_s
        return max(incident.onset_s - at_s, at_s - until_s, 0.0)

    near = store.select(instance, at_s - _NEAR_S, at_s + _LEAD_S)
    return min(near, key=lambda one: (distance_s(one), -one.onset_s), default=None)
