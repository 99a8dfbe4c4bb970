"""Incidents of the synthetic host: its verdicts, followed as the running program follows them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from detector.diagnosis.library import signatures
from detector.frame import Frame
from detector.incidents.case import Case
from detector.incidents.incident import Incident
from detector.sink import Judged
from detector.source import Host
from detector.verdict import Verdict
from tests.detector.synthetic import INSTANCE, START_S, Fault, synthetic_frame
from tests.detector.watching import JUDGE, Watched, watch

HOST = Host(INSTANCE, "hostpulse")
LEARNED_S = JUDGE.baseline_s + JUDGE.window_s
FAULT_S, FAULT_ENDS_S, DURATION_S = 260.0, 290.0, 330.0
_EMPTY = Frame(INSTANCE, np.empty(0), np.empty((0, 0)), ())


def judged(verdict: Verdict, host: Host = HOST) -> Judged:
    """A verdict as the loop publishes it."""
    return Judged(host, verdict, _EMPTY, JUDGE.window_s, JUDGE.stride_s, 0.1, verdict.end_s)


def followed(verdicts: Iterable[Verdict], case: Case | None = None) -> list[Incident]:
    """What a case has written down of some verdicts, one after the other."""
    case = case or Case(HOST, tuple(signatures().values()))
    taken = (case.take(judged(verdict)) for verdict in verdicts)
    return [incident for incident in taken if incident is not None]


def faulty(learned: Watched, faults: tuple[Fault, ...], duration_s: float = DURATION_S) -> tuple[Verdict, ...]:
    """The verdicts on the learned host with faults put in."""
    return watch(synthetic_frame(duration_s, faults), state=learned.state, after_s=LEARNED_S, fits=False).verdicts


def made(number: int = 0, host: Host = HOST, end_s: float | None = math.nan, **changes: object) -> Incident:
    """An incident without windows: it began ``number`` hours after the start and, if nothing else is said, ended."""
    onset_s = START_S + 3600.0 * number
    fields = {
        "id": f"made-{number}-{host.instance}",
        "instance": host.instance,
        "job": host.job,
        "onset": onset_s,
        "opened": onset_s + 5.0,
        "seen": onset_s + 60.0,
        "end": onset_s + 60.0 if end_s is not None and math.isnan(end_s) else end_s,
        "peak": 2.5,
        "page": False,
        "subsystem": "storage",
        "shares": {"cpu": 0.2, "storage": 0.8},
        "order": (),
        "signatures": (),
        "features": (),
        "votes": {"deviation": 2.0},
        "curve": ((onset_s, 1.2), (onset_s + 1.0, 2.5)),
        "series": (),
    }
    return Incident.model_validate(fields | changes)
