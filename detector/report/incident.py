"""The report of one incident."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from detector.diagnosis.finding import Evidence, Finding
from detector.diagnosis.signature import Signature
from detector.incidents.incident import Incident
from detector.readable import duration, quantity
from detector.report.document import (
    Bars,
    Block,
    Chart,
    Commands,
    Entries,
    Link,
    Links,
    Prose,
    Report,
    Section,
    Table,
    moment,
    time_of_day,
)

_SHOWN = 3
BOUND = 1.0


def report_of(incident: Incident, signatures: Mapping[str, Signature]) -> Report:
    """All that is known of an incident, what matters at 3 a.m. first."""
    sections = [
        Section("What happened", (_summary(incident), _score(incident))),
        *causes_of(incident.signatures, signatures),
        Section("What moved", (_features(incident), *_charts(incident))),
        Section("Subsystems", tuple(_subsystems(incident))),
    ]
    if incident.facts:
        sections.append(Section("The host", (Table((), tuple(incident.facts.items())),)))
    return Report(f"{incident.instance}: {incident.subsystem}", _lead(incident), tuple(sections), incident.as_json())


def _lead(incident: Incident) -> str:
    lasted = duration(incident.until_s - incident.onset_s)
    state = f"has been unusual for {lasted}" if incident.end_s is None else f"was unusual for {lasted}"
    text = f"{incident.instance} {state}, from {moment(incident.onset_s)} on; "
    text += "nothing leads" if incident.subsystem == "unknown" else f"what is to blame is its {incident.subsystem}"
    if not incident.signatures:
        return f"{text}. No known cause fits."
    first = incident.signatures[0]
    return f"{text}. Most likely: {first.title[0].lower()}{first.title[1:]} (confidence {first.confidence:.0%})."


def _summary(incident: Incident) -> Table:
    ended = "still open" if incident.end_s is None else moment(incident.end_s)
    votes = ", ".join(f"{name} {score:.2f}" for name, score in incident.votes.items())
    rows = (
        ("host", incident.instance),
        ("job", incident.job or "–"),
        ("began", moment(incident.onset_s)),
        ("alarm", f"{moment(incident.opened_s)}, {duration(incident.opened_s - incident.onset_s)} later"),
        ("ended", ended),
        ("highest score", f"{incident.peak:.2f} (the bound is 1)"),
        ("detectors then", votes or "–"),
        ("worth a page", "yes" if incident.page else "no"),
        ("id", incident.id),
    )
    return Table((), rows)


def _score(incident: Incident) -> Chart:
    span_s = incident.onset_s, incident.until_s
    return Chart("Anomaly score", "", incident.curve, ("bound", BOUND), span_s)


def causes_of(findings: Sequence[Finding], signatures: Mapping[str, Signature]) -> Iterator[Section]:
    """The likely causes, each with what speaks for and against it, what to check and what to change."""
    if not findings:
        yield Section("Likely causes", (Prose("None of the known causes fits what moved."),))
        return
    rows = tuple((finding.title, finding.name, f"{finding.confidence:.0%}") for finding in findings)
    yield Section("Likely causes", (Table(("cause", "signature", "confidence"), rows),))
    for finding in findings[:_SHOWN]:
        blocks: list[Block] = []
        signature = signatures.get(finding.name)
        if signature is not None:
            blocks.append(Prose(signature.cause))
        blocks.append(_evidence(finding))
        if signature is not None:
            blocks += [Prose("To check:"), Commands(tuple((one.run, one.look_for) for one in signature.check))]
            blocks += [Prose("To change:"), Entries(signature.change)]
            blocks.append(Links(tuple(Link(one.title, one.url) for one in signature.reference)))
        yield Section(f"{finding.title} ({finding.confidence:.0%})", tuple(blocks), minor=True)


def _evidence(finding: Finding) -> Table:
    rows = [("for", *_told(one)) for one in finding.speaks_for]
    rows += [("against", *_told(one)) for one in finding.speaks_against]
    return Table(("", "why", "signal", "mean then", "usually", "deviation"), tuple(rows))


def _told(one: Evidence) -> tuple[str, ...]:
    actual, typical = quantity(one.actual, one.unit), quantity(one.typical, one.unit)
    return one.why, one.channel, actual, typical, f"{one.deviation:+.1f} σ"


def _features(incident: Incident) -> Table:
    rows = tuple(
        (
            cause.channel + (f" and {len(cause.members)} alike" if cause.members else ""),
            cause.subsystem,
            cause.statistic,
            quantity(cause.actual, cause.unit),
            quantity(cause.typical, cause.unit),
            f"{cause.deviation:+.1f} σ",
        )
        for cause in incident.features
    )
    return Table(("signal", "subsystem", "statistic", "then", "usually", "deviation"), rows)


def _charts(incident: Incident) -> Iterator[Chart]:
    span_s = incident.onset_s, incident.until_s
    for line in incident.series:
        yield Chart(line.channel, line.unit, line.points, ("usually", line.typical), span_s)


def _subsystems(incident: Incident) -> Iterator[Block]:
    yield Bars(tuple(sorted(incident.shares.items(), key=lambda pair: -pair[1])))
    if incident.order:
        yield Prose("In the order in which they began to deviate; what came first may be the cause of what came later:")
        yield Table(
            ("subsystem", "since", "first seen in"),
            tuple((one.subsystem, f"{time_of_day(one.since_s)} UTC", one.channel) for one in incident.order),
        )
