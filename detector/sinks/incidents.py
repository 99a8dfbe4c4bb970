"""Episodes as incidents, into the store; written beside the loop, since a disk may be what is slow."""

from __future__ import annotations

import logging
import math
from concurrent.futures import Future
from threading import Lock
from typing import Any, ClassVar, Self

from catalog import outputs
from detector.background import Background
from detector.diagnosis.library import signatures
from detector.incidents.case import Case
from detector.incidents.incident import Incident
from detector.sink import Context, Judged, Sink
from detector.source import Host

_PATIENCE_S = 1.0
_RETRY_S = 10.0
_MOST_WAITING = 256

_LOG = logging.getLogger(__name__)


class IncidentSink(Sink):
    """See the module. What cannot be written is counted, and logged until it works again; ends are tried again."""

    name: ClassVar[str] = "incident_store"

    def __init__(self, context: Context) -> None:
        self._store = context.incidents
        self._clock, self._telemetry = context.clock, context.telemetry
        self._signatures = tuple(signatures().values())
        self._cases: dict[Host, Case] = {}
        self._earlier: dict[Host, tuple[str, Incident | None]] = {}
        self._thread = Background("incidents", 1)
        self._waiting: dict[str, tuple[Incident | None, Future[None]]] = {}
        self._newest: dict[str, Incident] = {}
        self._handing_over = Lock()
        self._ends: dict[str, Incident] = {}
        self._again_s = -math.inf
        self._trouble = ""

    @classmethod
    def build(cls, setting: Any, context: Context) -> Self:  # noqa: ARG003 - always on
        """See ``Sink``."""
        return cls(context)

    def publish(self, judged: Judged) -> None:
        """See ``Sink``."""
        case = self._cases.get(judged.host)
        if case is None:
            case = self._cases[judged.host] = Case(judged.host, self._signatures)
            ending = self._thread.submit(self._end_left_open, judged.host, judged.verdict.onset_s)
            self._waiting[f"what {judged.host} left open"] = None, ending
        self._write(case.take(judged))
        self._account()
        self._write_ends_again()

    def leave(self, host: Host) -> None:
        """See ``Sink``."""
        case = self._cases.pop(host, None)
        if case is not None:
            self._write(case.leave())
            self._thread.submit(self._earlier.pop, host, None)

    def close(self) -> None:
        """See ``Sink``; what waits to be written gets a moment."""
        if not self._thread.close(_PATIENCE_S):
            _LOG.warning("not every incident was written within %g s", _PATIENCE_S)
        self._account()

    def _write(self, incident: Incident | None) -> None:
        if incident is None:
            return
        self._ends.pop(incident.id, None)
        waiting = sum(one is not None for one, _ in self._waiting.values())
        if waiting >= _MOST_WAITING and incident.id not in self._waiting:
            self._missed(incident)  # the disk does not follow
            return
        with self._handing_over:
            queued = incident.id in self._newest
            self._newest[incident.id] = incident  # in place of an older state that nobody has begun to write
        writing = self._waiting[incident.id][1] if queued else self._thread.submit(self._put_newest, incident.id)
        self._waiting[incident.id] = incident, writing

    def _missed(self, incident: Incident | None) -> None:
        """Keep what could not be written where it is the last of an incident; of others the next state is a chance."""
        if incident is not None and incident.end_s is not None and len(self._ends) < _MOST_WAITING:
            self._ends[incident.id] = incident

    def _write_ends_again(self) -> None:
        now_s = self._clock.elapsed_s()
        if self._ends and now_s >= self._again_s:
            self._again_s = now_s + _RETRY_S
            for incident in list(self._ends.values()):
                self._write(incident)

    def _put_newest(self, incident_id: str) -> None:
        """Write the newest state of an incident, together with what an earlier run knew of it."""
        with self._handing_over:
            incident = self._newest.pop(incident_id)
        host = Host(incident.instance, incident.job)
        if self._earlier.get(host, ("",))[0] != incident.id:
            self._earlier[host] = incident.id, self._store.get(incident.id)
        earlier = self._earlier[host][1]
        if earlier is not None and earlier.opened_s < incident.opened_s:
            incident = incident.continuing(earlier)
        self._store.put(incident, self._clock.wall_s())

    def _account(self) -> None:
        for name, (incident, writing) in list(self._waiting.items()):
            if not writing.done():
                continue
            del self._waiting[name]
            error = writing.exception()
            if error is not None:
                self._telemetry.count(outputs.SINK_ERRORS, self.name)
                self._missed(incident)
                if not self._trouble:
                    _LOG.error("incidents cannot be written, judging goes on: %s", error)
            elif self._trouble:
                _LOG.info("incidents are written again")
            self._trouble = "" if error is None else str(error)

    def _end_left_open(self, host: Host, onset_s: float) -> None:
        """End what an earlier run left open, unless it is what goes on."""
        for incident in self._store.open_ones(host.instance, host.job):
            if abs(incident.onset_s - onset_s) > 1e-3 or onset_s != onset_s:
                self._store.put(incident.model_copy(update={"end_s": incident.seen_s}), self._clock.wall_s())
