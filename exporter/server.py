"""The pages over HTTP, with a bound on everything a client can take: connections, time, header, body.

https://www.tornadoweb.org/en/stable/tcpserver.html
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream, StreamClosedError
from tornado.tcpserver import TCPServer

from exporter.connection import HEADER_END, MAX_HEADER_BYTES, Connection

_TEXT = "text/plain; charset=utf-8"
_MAX_READ_BYTES = 64 << 10
_GZIP_FROM_BYTES = 256 << 10
_MOST_UNSENT_BYTES = 16 << 20
_SMALL_BYTES = 64 << 10
_REFUSAL_S = 1.0
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Response:
    """What a page answers. ``compressible`` allows gzip where the client asks for it and the body is large."""

    body: bytes
    content_type: str = _TEXT
    status: HTTPStatus = HTTPStatus.OK
    compressible: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


_CROWDED = Response(
    b"other clients have not taken their answers yet\n",
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    headers={"Retry-After": "1"},
)


class BadRequestError(Exception):
    """The client asked for something that is not allowed; the message says what is."""


Page = Callable[[HTTPServerRequest], Response]


class Server(TCPServer):
    """Serves pages by path, to GET and HEAD only."""

    def __init__(self, pages: Mapping[str, Page], *, timeout_s: float, max_connections: int) -> None:
        """``pages`` by path; ``timeout_s`` bounds waits for a request, its body, and for an answer to be taken."""
        super().__init__(max_buffer_size=_MAX_READ_BYTES)
        self._pages = pages
        self._timeout_s = timeout_s
        self._max_connections = max_connections
        self._open: dict[IOStream, int] = {}  # how long the newest answer is
        self._refused = 0

    def handle_stream(self, stream: IOStream, address: tuple[object, ...]) -> Awaitable[None] | None:
        """Take a connection, or say that there are too many."""
        del address
        if len(self._open) < self._max_connections:
            self._open[stream] = 0
            return self._serve(stream)
        if self._refused < self._max_connections:
            self._refused += 1
            return self._refuse(stream)
        stream.close()
        return None

    async def _serve(self, stream: IOStream) -> None:
        try:
            await Connection(stream, partial(self._answer, stream), self._timeout_s).serve()
        finally:
            stream.close()
            del self._open[stream]

    async def close_all_connections(self) -> None:
        """Close what is open."""
        for stream in [*self._open]:
            stream.close()

    async def _refuse(self, stream: IOStream) -> None:
        """Say no, and close once the request is in: closing before that resets the connection, and the no is lost."""
        timer = asyncio.get_running_loop().call_later(_REFUSAL_S, stream.close)
        try:
            await stream.write(_BUSY)
            await stream.read_until(HEADER_END, max_bytes=MAX_HEADER_BYTES)
        except StreamClosedError:
            return
        finally:
            timer.cancel()
            stream.close()
            self._refused -= 1

    def _answer(self, stream: IOStream, request: HTTPServerRequest, stays_open: bool) -> bytes:
        answer = _written(self._respond(request), request, stays_open)
        if len(answer) > _SMALL_BYTES and self._unsent_bytes() > _MOST_UNSENT_BYTES:
            answer = _written(_CROWDED, request, stays_open)
        self._open[stream] = len(answer)
        return answer

    def _unsent_bytes(self) -> int:
        """What is kept for clients that do not take their answers: each whole, until its last byte is gone."""
        return sum(length for stream, length in self._open.items() if stream.writing())

    def _respond(self, request: HTTPServerRequest) -> Response:
        page = self._pages.get(request.path)
        if page is None:
            known = "\n".join(sorted(self._pages))
            return Response(f"nothing here; there is\n{known}\n".encode(), status=HTTPStatus.NOT_FOUND)
        if request.method not in ("GET", "HEAD"):
            return Response(
                b"only GET and HEAD are allowed\n",
                status=HTTPStatus.METHOD_NOT_ALLOWED,
                headers={"Allow": "GET, HEAD"},
            )
        try:
            return page(request)
        except BadRequestError as error:
            return Response(f"{error}\n".encode(), status=HTTPStatus.BAD_REQUEST)


def _written(response: Response, request: HTTPServerRequest, stays_open: bool) -> bytes:
    """An answer as it is sent."""
    body, headers = response.body, {"Content-Type": response.content_type, **response.headers}
    if response.compressible:
        headers["Vary"] = "Accept-Encoding"
        if len(body) >= _GZIP_FROM_BYTES and _accepts_gzip(request.headers.get("Accept-Encoding", "")):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            headers["Content-Encoding"] = "gzip"
    headers |= {"Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff"}
    if not stays_open or request.version != "HTTP/1.1":
        headers["Connection"] = "keep-alive" if stays_open else "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {response.status.value} {response.status.phrase}\r\n{lines}\r\n".encode("latin1")
    return head if request.method == "HEAD" else head + body


def _accepts_gzip(accept_encoding: str) -> bool:
    """Whether gzip is named, and not with quality 0.

    >>> _accepts_gzip("br, gzip;q=0.5"), _accepts_gzip("gzip;q=0"), _accepts_gzip("identity")
    (True, False, False)
    """
    for entry in accept_encoding.lower().split(","):
        coding, _, quality = (part.strip() for part in entry.partition(";"))
        if coding == "gzip":
            return quality.replace(" ", "").rstrip("0.") != "q="
    return False
