"""What a detector says, noted as it is seen: scores and alarms, with the wall time at which they could be read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from typing import Any, Self

import requests

from bench.faults.matching import Alarm, Track
from tests.servers import Server, wait_until

LEARNING = "learning"
CALM_S, _CALM_LIMIT_S = 30.0, 600.0
_POLL_S, _LIMIT_S = 0.25, 5.0
Verdict = Mapping[str, Any]


@dataclass
class Watcher:
    """Asks a detector of one host for its newest verdict until it is stopped. A context manager."""

    detector: Server
    newest: Verdict = field(default_factory=dict)
    scores: list[tuple[float, float]] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    @property
    def learned(self) -> bool:
        """Whether it has a model."""
        return bool(self.newest.get("phase", LEARNING) != LEARNING)

    def take(self, verdict: Verdict, seen_s: float) -> None:
        """Note a verdict, each window once."""
        if not verdict or verdict["end_s"] == self.newest.get("end_s"):
            return
        was_active, self.newest = bool(self.newest.get("active")), verdict
        if verdict["phase"] == LEARNING:
            return
        if verdict["score"] is not None:
            self.scores.append((seen_s, float(verdict["score"])))
        if not verdict["active"]:
            return
        if was_active:
            self.alarms[-1] = replace(self.alarms[-1], end_s=seen_s)
        else:
            self.alarms.append(Alarm(seen_s, seen_s, str(verdict["subsystem"])))

    def _watch(self) -> None:
        with requests.Session() as session:
            while not self._stop.wait(_POLL_S):
                try:
                    verdicts = session.get(f"{self.detector.url}/api/v1/verdicts", timeout=_LIMIT_S).json()
                except requests.RequestException:
                    continue  # it may be busy; what it says next tells as much
                self.take(verdicts[0] if verdicts else {}, time.time())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2 * _LIMIT_S)

    def track(self, start_s: float, incidents: Sequence[Mapping[str, Any]] = ()) -> Track:
        """What was seen, on a clock that begins at ``start_s``, with the first diagnosis of each incident."""
        alarms = [
            replace(one, start_s=one.start_s - start_s, end_s=one.end_s - start_s, signature=_diagnosis(one, incidents))
            for one in self.alarms.copy()
        ]
        return Track(alarms, [(at_s - start_s, score) for at_s, score in self.scores.copy()], names_subsystems=True)


def await_calm(watchers: Sequence[Watcher]) -> None:
    """Until no alarm has been raised for so long that the next one is another episode."""
    calm_from_s = time.monotonic()

    def calm() -> bool:
        nonlocal calm_from_s
        if any(watcher.newest.get("active") for watcher in watchers):
            calm_from_s = time.monotonic()
        return time.monotonic() - calm_from_s > CALM_S

    wait_until(calm, _CALM_LIMIT_S, "all are calm")


_OPENED_APART_S = 5.0


def _diagnosis(alarm: Alarm, incidents: Sequence[Mapping[str, Any]]) -> str:
    """The most likely signature of the incident that opened with this alarm; "" without one."""
    near = [one for one in incidents if abs(one["opened"] - alarm.start_s) <= _OPENED_APART_S]
    closest = min(near, key=lambda one: abs(one["opened"] - alarm.start_s), default={})
    signatures = closest.get("signatures") or [{"name": ""}]
    return str(signatures[0]["name"])


def incidents_of(detector: Server, from_s: float, to_s: float) -> list[Mapping[str, Any]]:
    """The incidents of a span of time; none where the detector does not keep them."""
    reply = requests.get(
        f"{detector.url}/api/v1/incidents", params={"from": f"{from_s:.3f}", "to": f"{to_s:.3f}"}, timeout=30
    )
    if reply.status_code == requests.codes.not_found:
        return []
    reply.raise_for_status()
    found: list[Mapping[str, Any]] = reply.json()["incidents"]
    return found
