"""Incidents in SQLite: a write-ahead log, so that who reads never waits for who writes and a crash loses little.

https://www.sqlite.org/wal.html. One row each; what cannot be searched for is JSON, compressed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import sqlite3
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from detector import durable
from detector.incidents.incident import Incident
from detector.incidents.wal import begins_well, log_of, pages_lost

FILE = "incidents.sqlite"
DAY_S = 86400.0
RETENTION_S = 90 * DAY_S
MOST = 2000
MOST_ANSWERED = 1000
_VERSION = 1
_PATIENCE_S = 5.0
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS incidents (
  id TEXT PRIMARY KEY, instance TEXT NOT NULL, job TEXT NOT NULL, onset REAL NOT NULL, ended REAL,
  document BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_onset ON incidents (onset);
CREATE INDEX IF NOT EXISTS by_instance ON incidents (instance, onset);
"""

_LOG = logging.getLogger(__name__)


class IncidentStore:
    """The incidents of all hosts, in a folder or, without one, in memory. Safe to use from several threads.

    It keeps the newest ``most`` incidents that are not older than ``retention_s``.
    """

    def __init__(
        self,
        directory: Path | None = None,
        retention_s: float = RETENTION_S,
        most: int = MOST,
        *,
        read_only: bool = False,
    ) -> None:
        """Raises OSError where the folder cannot be used, with ENOSPC where it is full.

        What is damaged is set aside as ``*.bad``. With ``read_only`` nothing is changed, as another program may use the
        folder: a file that is damaged is an OSError then too, and what is only in a damaged log is left out.
        """
        self._retention_s, self._most = retention_s, most
        self._writing, self._reading = threading.Lock(), threading.Lock()
        if directory is None:
            self._writer = self._reader = _connect(":memory:")
            self._reading = self._writing
            return
        file = directory / FILE
        with _opening(file):
            if read_only:
                self._writer = self._reader = _looked_at(file)
                self._reading = self._writing
                return
            directory.mkdir(parents=True, exist_ok=True)
            self._writer, self._reader = _mended(file), _connect(str(file))

    def put(self, incident: Incident, now_s: float = math.inf) -> None:
        """Write one incident in place of what is known of it. Raises sqlite3.Error (disk full, say).

        What is too old goes, by ``now_s`` or the incident's own time if that is earlier: a host's clock may be ahead.
        """
        document = zlib.compress(orjson.dumps(incident.as_json()), 1)
        row = incident.id, incident.instance, incident.job, incident.onset_s, incident.end_s, document
        with self._writing, self._writer:
            self._writer.execute("INSERT OR REPLACE INTO incidents VALUES (?, ?, ?, ?, ?, ?)", row)
            self._forget(min(incident.seen_s, now_s))

    def select(
        self,
        instance: str = "",
        from_s: float = float("-inf"),
        to_s: float = float("inf"),
        most: int = MOST_ANSWERED,
    ) -> list[Incident]:
        """The newest incidents, oldest first, any part of which lies in a span of time."""
        query = (
            "SELECT document FROM incidents WHERE (?1 = '' OR instance = ?1) AND onset <= ?3 "
            "AND (ended IS NULL OR ended >= ?2) ORDER BY onset DESC LIMIT ?4"
        )
        with self._reading:
            rows = self._reader.execute(query, (instance, from_s, to_s, most)).fetchall()
        return list(_restored(reversed(rows)))

    def get(self, name: str) -> Incident | None:
        """The incident with an id, or whose id alone begins so."""
        query = "SELECT document FROM incidents WHERE id BETWEEN ? AND ? LIMIT 2"
        with self._reading:
            rows = self._reader.execute(query, (name, name + chr(sys.maxunicode))).fetchall()
        found = list(_restored(iter(rows)))
        return found[0] if len(found) == 1 and name else None

    def instances(self) -> list[str]:
        """Those of which there are incidents."""
        with self._reading:
            rows = self._reader.execute("SELECT DISTINCT instance FROM incidents").fetchall()
        return [instance for (instance,) in rows]

    def open_ones(self, instance: str, job: str) -> list[Incident]:
        """The incidents of a host that have no end."""
        query = "SELECT document FROM incidents WHERE instance = ? AND job = ? AND ended IS NULL"
        with self._reading:
            rows = self._reader.execute(query, (instance, job)).fetchall()
        return list(_restored(iter(rows)))

    def close(self) -> None:
        """Close the file; what was written is in it."""
        for connection in {id(one): one for one in (self._reader, self._writer)}.values():
            connection.close()

    def _forget(self, now_s: float) -> None:
        self._writer.execute("DELETE FROM incidents WHERE onset < ?", (now_s - self._retention_s,))
        self._writer.execute(
            "DELETE FROM incidents WHERE id IN (SELECT id FROM incidents ORDER BY onset DESC LIMIT -1 OFFSET ?)",
            (self._most,),
        )


@contextlib.contextmanager
def _opening(file: Path) -> Iterator[None]:
    """What SQLite refuses becomes an OSError."""
    try:
        yield
    except sqlite3.OperationalError as error:  # no room, no permission
        code = errno.ENOSPC if error.sqlite_errorcode in _NO_ROOM else errno.EACCES
        raise OSError(code, str(error), str(file)) from None
    except sqlite3.DatabaseError as error:
        raise OSError(errno.EIO, str(error), str(file)) from None


def _connect(place: str, *, read_only: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=_PATIENCE_S, check_same_thread=False, uri=read_only)
    try:
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"it has version {version}, not {_VERSION}")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(" ".join(found.split()))  # one line of a log
        if not version and read_only:
            raise sqlite3.DatabaseError("nothing was written to it yet")
        if not version:  # what is there already needs no room
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _looked_at(file: Path) -> sqlite3.Connection:
    """A connection that writes nothing, not even beside the file.

    https://www.sqlite.org/wal.html#read_only_databases: without a log nobody has the file open, and it stays as it is.
    """
    log = log_of(file)
    logged = log.exists()
    if not begins_well(log):
        _LOG.warning("%s is damaged: what is only in there is not told", log)
        logged = False
    uri = f"{file.absolute().as_uri()}?mode=ro"
    return _connect(uri if logged else f"{uri}&immutable=1", read_only=True)


def _mended(file: Path) -> sqlite3.Connection:
    log = log_of(file)
    if not begins_well(log):
        _LOG.warning("%s is damaged and set aside as .bad: incidents that were only in there are lost", log)
        durable.set_aside(log)
    elif pages := pages_lost(log):
        _LOG.warning("%s is damaged further in: incidents that were only in %d of its pages are lost", log, pages)
    try:
        return _connect(str(file))
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        _LOG.warning("%s is not used: %s; it is set aside", file, error)
        _set_aside(file)
        return _connect(str(file))


def _set_aside(file: Path) -> None:
    durable.set_aside(file)
    for end in ("-wal", "-shm"):
        with contextlib.suppress(OSError):
            file.with_name(file.name + end).unlink()


def _restored(rows: Iterator[tuple[bytes]]) -> Iterator[Incident]:
    """What can be read of the rows; one that cannot is told of in one line of the log."""
    for (document,) in rows:
        try:
            fields: Mapping[str, Any] = orjson.loads(zlib.decompress(document))
            yield Incident.model_validate(fields)
        except (zlib.error, ValueError, ValidationError) as error:
            _LOG.warning("an incident cannot be read: %s", str(error).partition("\n")[0])
