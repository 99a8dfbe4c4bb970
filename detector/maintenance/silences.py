"""Reads Alertmanager's silences as maintenance: GET /api/v2/silences.

Only a silence that keeps back every anomaly of a host is one: who silences a single alert or subsystem has seen it, and
the host goes on to be judged. https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from catalog import outputs
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.access import Access
from detector.attribution import UNKNOWN
from detector.clock import Clock
from detector.fetch import Fetcher, FetchError, without_password
from detector.maintenance.period import Matcher, Period
from detector.maintenance.register import Register
from detector.settings import Maintenance
from detector.telemetry import Telemetry

ALERTS: Mapping[str, str] = {"HostAnomaly": "warning", "HostAnomalyPage": "critical"}
"""What is raised of a host, by name with severity; deploy/prometheus/rules/hostpulse.yml."""
_OF_A_HOST = ("instance", "job")
_TIMEOUT_S = 5.0
_MOST_BYTES = 16 << 20

_LOG = logging.getLogger(__name__)


class Silences:
    """Looks at an Alertmanager's silences now and then, on a thread of its own that ends with the clock."""

    def __init__(self, settings: Maintenance, register: Register, telemetry: Telemetry, clock: Clock) -> None:
        self._url = f"{settings.alertmanager}/api/v2/silences"
        self._interval_s = settings.interval_s
        self._register, self._telemetry, self._clock = register, telemetry, clock
        self._fetcher = Fetcher(_TIMEOUT_S, _MOST_BYTES, Access(settings.access))
        self._trouble = ""

    def start(self) -> None:
        """Look from now on."""
        threading.Thread(target=self._run, name="silences", daemon=True).start()

    def look(self) -> None:
        """Look once. What was known stays where they cannot be read."""
        try:
            status, body = self._fetcher.get(self._url, {})
            if status != 200:
                raise FetchError(f"{without_password(self._url)}: status {status}")
            periods = list(periods_of(orjson.loads(body)))
        except (FetchError, ValueError, KeyError, TypeError) as error:
            self._telemetry.count(outputs.SILENCES_ERRORS)
            if not self._trouble:
                _LOG.warning("silences cannot be read, those known stay in force: %s", error)
            self._trouble = str(error)
            return
        if self._trouble:
            _LOG.info("silences can be read again")
            self._trouble = ""
        self._register.read(periods, self._clock.wall_s())

    def _run(self) -> None:
        self.look()
        while not self._clock.wait(self._interval_s):
            self.look()


def periods_of(silences: Sequence[Mapping[str, Any]]) -> Iterator[Period]:
    """The silences that are maintenance.

    Raises:
        KeyError, TypeError, ValueError: the answer is not Alertmanager's.
    """
    for silence in silences:
        matchers = tuple(map(_matcher, silence["matchers"]))
        of_a_host = tuple(matcher for matcher in matchers if matcher.name in _OF_A_HOST)
        others = [matcher for matcher in matchers if matcher.name not in _OF_A_HOST]
        if silence["status"]["state"] == "expired" or not of_a_host or not _keep_back_all(others):
            continue
        start_s, end_s = (datetime.fromisoformat(silence[key]).timestamp() for key in ("startsAt", "endsAt"))
        yield Period(silence["id"], of_a_host, start_s, end_s, silence.get("comment", ""))


def _matcher(fields: Mapping[str, Any]) -> Matcher:
    return Matcher(fields["name"], fields["value"], bool(fields["isRegex"]), bool(fields.get("isEqual", True)))


def _keep_back_all(matchers: Sequence[Matcher]) -> bool:
    """Whether each anomaly that a host may raise fulfils these."""
    alarms = (
        {"alertname": name, "severity": severity, "subsystem": subsystem}
        for name, severity in ALERTS.items()
        for subsystem in (*JUDGED_SUBSYSTEMS, UNKNOWN)
    )
    return all(matcher.holds(alarm) for alarm in alarms for matcher in matchers)
