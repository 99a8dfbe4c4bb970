"""HTTP/1.1 on one connection: requests one after the other, each bounded in size and time.

https://www.rfc-editor.org/rfc/rfc9112. Parsing is tornado's; its own server takes four times as long for a request as
this loop, which knows that a scraper says the same again and again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tornado.httputil import HTTPHeaders, HTTPInputError, HTTPServerRequest, parse_request_start_line
from tornado.iostream import IOStream, StreamClosedError

MAX_HEADER_BYTES = 16 << 10
_MOST_HEARD_BYTES = 3 * MAX_HEADER_BYTES  # one that is longer ends the connection without a word
_MAX_BODY_BYTES = 16 << 10
HEADER_END = b"\r\n\r\n"
_AUTHORITY = re.compile(r"https?://[^/?]*", re.IGNORECASE)
_LENGTH = re.compile(r"\d{1,9}")
_MALFORMED = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

T = TypeVar("T")
Answer = Callable[[HTTPServerRequest, bool], bytes]


class Connection:
    """A client's connection. ``answer`` gives the bytes to send for a request, and is told whether another may follow.

    ``timeout_s`` bounds waits for a request, for its body, and for the client to take the answer.
    """

    _watcher: asyncio.TimerHandle

    def __init__(self, stream: IOStream, answer: Answer, timeout_s: float) -> None:
        self._stream, self._answer, self._timeout_s = stream, answer, timeout_s
        self._loop = asyncio.get_running_loop()
        self._ends_s = self._loop.time() + timeout_s
        self._heard = b""
        self._request: HTTPServerRequest | None = None

    async def serve(self) -> None:
        """Answer requests until the client leaves, is too slow or asks for something malformed."""
        self._watch()
        try:
            await self._converse()
        except StreamClosedError:
            return
        finally:
            self._watcher.cancel()

    async def _converse(self) -> None:
        try:
            while await self._exchange():
                pass
        except HTTPInputError:
            await self._within(self._stream.write(_MALFORMED))

    def _watch(self) -> None:
        """Close the connection once a wait has taken too long: one timer, whatever is waited for."""
        left_s = self._ends_s - self._loop.time()
        if left_s > 0.0:
            self._watcher = self._loop.call_later(left_s, self._watch)
        else:
            self._stream.close()

    async def _exchange(self) -> bool:
        """Take a request and answer it; whether another may follow."""
        coming = asyncio.ensure_future(self._stream.read_until(HEADER_END, max_bytes=_MOST_HEARD_BYTES))
        if coming.done():  # one of many at once: other connections have their turn first
            await asyncio.sleep(0)
        heard = await self._within(coming)
        if len(heard) > MAX_HEADER_BYTES:
            await self._within(self._stream.write(_TOO_LONG))
            return False
        if heard != self._heard or self._request is None:
            self._heard, self._request = heard, understood(heard)
        request = self._request
        if length := _body_bytes(request.headers):
            await self._within(self._stream.read_bytes(length))
        stays = _stays_open(request)
        await self._within(self._stream.write(self._answer(request, stays)))
        return stays

    def _within(self, wait: Awaitable[T]) -> Awaitable[T]:
        """What is waited for. If that takes too long the connection is closed and StreamClosedError raised."""
        self._ends_s = self._loop.time() + self._timeout_s
        return wait


def understood(heard: bytes) -> HTTPServerRequest:
    """The request in these bytes; HTTPInputError where there is none.

    >>> understood(b"GET /metrics?a=1 HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n").path
    '/metrics'
    >>> understood(b"GET http://h:1/metrics HTTP/1.1\\r\\nHost: h:1\\r\\n\\r\\n").path  # as of a proxy
    '/metrics'
    """
    start, _, rest = heard.decode("latin1").lstrip("\r\n").partition("\r\n")
    line = parse_request_start_line(start)
    if whose := _AUTHORITY.match(line.path):
        line = line._replace(path="/" + line.path[whose.end() :].removeprefix("/"))
    return HTTPServerRequest(start_line=line, headers=HTTPHeaders.parse(rest))


def _body_bytes(headers: HTTPHeaders) -> int:
    """The length of a request's body, which nobody looks at; HTTPInputError for one that is too long or not told."""
    told = headers.get("Content-Length", "0")
    if "Transfer-Encoding" in headers or not _LENGTH.fullmatch(told) or int(told) > _MAX_BODY_BYTES:
        raise HTTPInputError("a body that is too long, or of unknown length")
    return int(told)


def _stays_open(request: HTTPServerRequest) -> bool:
    wishes = {wish.strip() for wish in request.headers.get("Connection", "").lower().split(",")}
    return "close" not in wishes and (request.version == "HTTP/1.1" or "keep-alive" in wishes)
