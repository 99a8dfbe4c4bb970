"""One HTTP exchange with a bound on its whole duration and size; https://requests.readthedocs.io/en/latest/user/advanced/.

``requests`` bounds each socket operation only: a server that trickles would hold a reader for ever. Here its adapter
bounds the whole answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import requests
import urllib3

from detector.access import Access, AccessError, AccessSettings
from detector.deadline import BoundedAdapter

_CHUNK_BYTES = 1 << 18
_LONGEST_QUOTE = 300
_SPARSE = 8  # of so many characters one is worth showing, as a rule: pages are indented
_HOSTS = 1000  # whose connections are kept
_CONNECTIONS = 8  # to each of them


class FetchError(Exception):
    """No good answer; the message names the address and what was wrong."""


def without_password(url: str) -> str:
    """A URL that may be logged.

    >>> without_password("http://me:secret@h:9090/x"), without_password("http://me:se@cr,et@h/x")
    ('http://h:9090/x', 'http://h/x')
    """
    return re.sub(r"(?<=://)[^/\s]*@", "", url)


class Fetcher:
    """Asks over connections that are kept, from any thread. Proxies and netrc of the environment do not count.

    Requests are prepared once for each URL, which is half of what ``requests`` does for a short answer.
    """

    def __init__(self, timeout_s: float, largest_bytes: int, access: Access | None = None) -> None:
        self._access = access or Access(AccessSettings())
        self._timeout_s = timeout_s
        self._largest_bytes = largest_bytes
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers.update({"Accept-Encoding": "identity", "User-Agent": "hostpulse-detector"})
        self._session.verify, self._session.cert = self._access.verify, self._access.certificate
        self._session.proxies.update(self._access.proxies)
        adapter = BoundedAdapter(pool_connections=_HOSTS, pool_maxsize=_CONNECTIONS)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        self._prepared: dict[str, requests.PreparedRequest] = {}
        self._with_password: frozenset[str] = frozenset()

    def get(self, url: str, parameters: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body, not compressed: decompressing costs more than the wire.

        Raises:
            FetchError: connection, time-out, size.
        """
        status, _, body = self._exchange(self._request(url, parameters), without_password(url))
        return status, body

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer to ``body``. Raises FetchError as ``get`` does."""
        self._remember(url)
        request = self._session.prepare_request(requests.Request("POST", url, data=body, headers=dict(headers)))
        return self._exchange(request, without_password(url))

    def _exchange(self, request: requests.PreparedRequest, shown: str) -> tuple[int, Mapping[str, str], bytes]:
        try:
            request.headers.update(self._access.headers())
            with self._session.send(request, timeout=self._timeout_s, stream=True, allow_redirects=False) as reply:
                return reply.status_code, reply.headers, self._body(reply, shown)
        except (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError) as error:
            raise FetchError(f"{shown}: no complete answer within {self._timeout_s:g} s") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise FetchError(f"{shown}: {self.quoted(_reason(error))}") from error
        except AccessError as error:
            raise FetchError(f"{shown}: {error}") from error

    def quoted(self, said: str | bytes, longest: int = _LONGEST_QUOTE) -> str:
        """The beginning of what a server said, on one line, without the secrets that we told it."""
        return _one_line(self._access.conceal(said, _SPARSE * longest, *self._with_password))[:longest]

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _remember(self, url: str) -> None:
        """What to conceal: a password in a URL is sent as one of basic authentication."""
        if url != without_password(url):
            self._with_password |= {url}  # a new set: another thread may go through the old one

    def _request(self, url: str, parameters: Mapping[str, str]) -> requests.PreparedRequest:
        if url not in self._prepared:
            self._remember(url)
            self._prepared[url] = self._session.prepare_request(requests.Request("GET", url))
        request = self._prepared[url].copy()
        request.url = f"{request.url}?{urlencode(parameters)}"
        return request

    def _body(self, reply: requests.Response, shown: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := reply.raw.read1(_CHUNK_BYTES):
            parts.append(part)
            size += len(part)
            if size > self._largest_bytes:
                raise FetchError(f"{shown}: the answer is larger than {self._largest_bytes} bytes")
        return b"".join(parts)


def _one_line(text: str) -> str:
    """A text that may be logged: without ends of lines, and nothing that moves a cursor.

    >>> _one_line("not \\x1b[2J ready\\r\\n!")
    'not [2J ready !'
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _reason(error: BaseException) -> str:
    """The innermost words of an error: urllib3 wraps them in several layers."""
    found: Any = error
    while isinstance(found, (requests.RequestException, urllib3.exceptions.MaxRetryError)):
        inner = getattr(found, "reason", None) or (found.args[0] if found.args else None)
        if not isinstance(inner, BaseException):
            break
        found = inner
    return re.sub(r"^<[^>]*>: |^\S*Connection\S*\([^)]*\): ", "", str(found)) or type(found).__name__
