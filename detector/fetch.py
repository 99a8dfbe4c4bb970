"""One HTTP GET with a bound on its whole duration and size; https://requests.readthedocs.io/en/latest/user/advanced/.

``requests`` bounds each socket operation only: a server that trickles would hold a reader for ever.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import Any

import requests
import urllib3

_CHUNK_BYTES = 1 << 18
_LONGEST_QUOTE = 300


class FetchError(Exception):
    """No good answer; the message names the address and what was wrong."""


def without_password(url: str) -> str:
    """A URL that may be logged.

    >>> without_password("http://me:secret@h:9090/x")
    'http://h:9090/x'
    """
    return re.sub(r"(?<=://)[^/@]*@", "", url)


class Fetcher:
    """GETs with one connection pool a thread. Proxies and netrc of the environment are not used."""

    def __init__(self, timeout_s: float, largest_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._largest_bytes = largest_bytes
        self._local = threading.local()
        self._sessions: list[requests.Session] = []

    def get(self, url: str, parameters: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body, not compressed: decompressing costs more than the wire.

        Raises:
            FetchError: connection, time-out, size.
        """
        deadline = time.monotonic() + self._timeout_s
        shown = without_password(url)
        try:
            with self._session().get(url, params=dict(parameters), timeout=self._timeout_s, stream=True) as reply:
                return reply.status_code, self._body(reply, deadline, shown)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise FetchError(f"{shown}: {_reason(error)}") from error

    def close(self) -> None:
        """Close the connections of all threads."""
        for session in self._sessions:
            session.close()

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
            session.trust_env = False
            session.headers.update({"Accept-Encoding": "identity", "User-Agent": "hostpulse-detector"})
            self._sessions.append(session)
        return session

    def _body(self, reply: requests.Response, deadline: float, shown: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := reply.raw.read1(_CHUNK_BYTES):
            parts.append(part)
            size += len(part)
            if size > self._largest_bytes:
                raise FetchError(f"{shown}: the answer is larger than {self._largest_bytes} bytes")
            if time.monotonic() > deadline:
                raise FetchError(f"{shown}: no complete answer within {self._timeout_s:g} s")
        return b"".join(parts)


def _reason(error: BaseException) -> str:
    """The innermost words of an error: urllib3 wraps them in several layers."""
    found: Any = error
    while isinstance(found, (requests.RequestException, urllib3.exceptions.MaxRetryError)):
        inner = getattr(found, "reason", None) or (found.args[0] if found.args else None)
        if not isinstance(inner, BaseException):
            break
        found = inner
    text = re.sub(r"^<[^>]*>: |^\S*Connection\S*\([^)]*\): ", "", str(found)) or type(found).__name__
    return text[:_LONGEST_QUOTE]
