"""Which periods of maintenance there are: those set by people, kept in a file, and those read from elsewhere."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from detector import durable
from detector.incidents.ask import EARLIEST_S, LATEST_S
from detector.maintenance.ask import LONGEST_S
from detector.maintenance.period import Period
from detector.source import Host

KEPT_AFTER_S = 3600.0  # windows may be judged late, when a source was down
MOST_PERIODS = 1000
FILE = "maintenance.json"

_PERIODS = TypeAdapter(list[Period], config=ConfigDict(strict=True, extra="forbid"))

_LOG = logging.getLogger(__name__)


class FullError(Exception):
    """There are as many periods as may be."""


class Register:
    """Safe to use from any thread. Without a folder nothing outlasts the program."""

    def __init__(self, directory: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._file = directory / FILE if directory else None
        self.saved = self._file is not None
        """Whether a restart remembers what was said."""
        self._said: dict[str, Period] = _load(self._file)
        self._read: tuple[Period, ...] = ()

    def covers(self, host: Host, at_s: float) -> bool:
        """Whether somebody works on the host at that time, seconds since the epoch."""
        said, read = self._said, self._read  # both are replaced, never changed
        return any(period.covers(host, at_s) for period in (*said.values(), *read))

    def periods(self, now_s: float) -> Sequence[tuple[str, Period]]:
        """Those that are not over, each with who said so: ``api`` or ``alertmanager``."""
        said = [("api", period) for period in self._said.values()]
        read = [("alertmanager", period) for period in self._read]
        return [(source, period) for source, period in (*said, *read) if period.end_s > now_s]

    def add(self, period: Period, now_s: float) -> Period:
        """Keep a period, under an id of its own.

        Raises:
            FullError: there are too many.
        """
        named = replace(period, id=uuid.uuid4().hex)
        with self._lock:
            kept = {one.id: one for one in self._said.values() if one.end_s > now_s - KEPT_AFTER_S}
            if len(kept) >= MOST_PERIODS:
                raise FullError(f"there are {MOST_PERIODS} periods of maintenance already")
            self._keep({**kept, named.id: named})
        return named

    def end(self, period_id: str, now_s: float) -> bool:
        """End a period now; False where there is none of that id that is not over."""
        with self._lock:
            period = self._said.get(period_id)
            if period is None or period.end_s <= now_s:
                return False
            self._keep({**self._said, period_id: replace(period, end_s=max(now_s, period.start_s))})
        return True

    def read(self, periods: Iterable[Period], now_s: float) -> None:
        """Take these as what is known from elsewhere; those that are missing now are over."""
        fresh = {period.id: period for period in periods}
        gone = [replace(one, end_s=min(one.end_s, now_s)) for one in self._read if one.id not in fresh]
        self._read = (*fresh.values(), *(one for one in gone if one.end_s > now_s - KEPT_AFTER_S))

    def _keep(self, said: dict[str, Period]) -> None:
        self._said = said
        if self._file is None:
            return
        try:
            durable.write(self._file, orjson.dumps(list(said.values())))
            self.saved = True
        except OSError as error:
            self.saved = False
            _LOG.warning("%s cannot be written, a restart forgets what it says: %s", self._file, error)


def _load(file: Path | None) -> dict[str, Period]:
    """What was kept; nothing where the file is not there, cannot be read, or is damaged and therefore set aside."""
    if file is None or not file.is_file():
        return {}
    try:
        return {period.id: period for period in _kept(file.read_bytes())}
    except OSError as error:
        _LOG.warning("%s cannot be read, no maintenance is remembered: %s", file, error.strerror or error)
    except ValueError as error:
        _LOG.warning("%s is damaged and set aside as .bad, no maintenance is remembered: %s", file, error)
        with suppress(OSError):
            durable.set_aside(file)
    return {}


def _kept(content: bytes) -> list[Period]:
    """The periods in a file. Raises ValueError that names the first thing that is wrong."""
    try:
        periods = _PERIODS.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None
    for number, period in enumerate(periods):
        if not period.matchers:
            raise ValueError(f"{number}.matchers: there are none, and that is every host")
        if not EARLIEST_S <= period.start_s <= period.end_s <= LATEST_S + LONGEST_S:
            raise ValueError(f"{number}: does not end after it begins, or is not from 1970 to 9998")
    return periods
