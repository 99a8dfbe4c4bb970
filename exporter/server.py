"""HTTP on a hardened library, with a bound on everything a client can take: connections, time, header, body.

https://www.tornadoweb.org/en/stable/httpserver.html
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import IOStream

_TEXT = "text/plain; charset=utf-8"
_MAX_HEADER_BYTES = 16 << 10
_MAX_BODY_BYTES = 16 << 10
_GZIP_FROM_BYTES = 256 << 10
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


class BadRequestError(Exception):
    """The client asked for something that is not allowed; the message says what is."""


Page = Callable[[HTTPServerRequest], Response]


class Server(HTTPServer):
    """Serves pages by path, to GET and HEAD only."""

    def initialize(  # type: ignore[override]  # tornado's servers are configured here, each with its own arguments
        self, pages: Mapping[str, Page], *, timeout_s: float, max_connections: int
    ) -> None:
        """``pages`` by path; ``timeout_s`` bounds waits for a request, its body, and for an answer to be taken."""
        super().initialize(
            self._answer,
            idle_connection_timeout=timeout_s,
            body_timeout=timeout_s,
            max_header_size=_MAX_HEADER_BYTES,
            max_body_size=_MAX_BODY_BYTES,
        )
        self._pages = pages
        self._timeout_s = timeout_s
        self._max_connections = max_connections
        self._open = 0
        self._refused = 0

    def handle_stream(self, stream: IOStream, address: tuple[object, ...]) -> None:
        """Take a connection, or say that there are too many."""
        if self._open < self._max_connections:
            self._open += 1
            super().handle_stream(stream, address)
        elif self._refused < self._max_connections:
            self._refuse(stream)
        else:
            stream.close()

    def _refuse(self, stream: IOStream) -> None:
        """Say no, and close once the request is in: closing before that resets the connection, and the no is lost."""
        self._refused += 1
        stream.set_close_callback(self._refusal_ended)
        stream.write(_BUSY)
        timer = asyncio.get_running_loop().call_later(_REFUSAL_S, stream.close)

        def end(read: asyncio.Future[bytes]) -> None:
            if not read.cancelled():
                read.exception()  # one that nobody has looked at would be logged
            timer.cancel()
            stream.close()

        asyncio.ensure_future(stream.read_until(b"\r\n\r\n", max_bytes=_MAX_HEADER_BYTES)).add_done_callback(end)

    def _refusal_ended(self) -> None:
        self._refused -= 1

    def on_close(self, server_conn: object) -> None:
        """Count a connection that has ended."""
        self._open -= 1
        super().on_close(server_conn)

    def _answer(self, request: HTTPServerRequest) -> None:
        response = self._respond(request)
        body, headers = response.body, {"Content-Type": response.content_type, **response.headers}
        if response.compressible:
            headers["Vary"] = "Accept-Encoding"
            if len(body) >= _GZIP_FROM_BYTES and _accepts_gzip(request.headers.get("Accept-Encoding", "")):
                body = gzip.compress(body, compresslevel=1, mtime=0)
                headers["Content-Encoding"] = "gzip"
        headers |= {"Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff"}
        assert request.connection is not None
        written = request.connection.write_headers(
            ResponseStartLine("HTTP/1.1", response.status.value, response.status.phrase),
            HTTPHeaders(headers),
            b"" if request.method == "HEAD" else body,
        )
        request.connection.finish()
        if not written.done():
            _close_unless_done(written, request, self._timeout_s)

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


def _close_unless_done(written: asyncio.Future[None], request: HTTPServerRequest, timeout_s: float) -> None:
    """End the connection of a client that does not take its answer in time."""
    stream: IOStream = request.connection.stream  # type: ignore[union-attr]  # the HTTP/1 connection has it
    timer = asyncio.get_running_loop().call_later(timeout_s, stream.close)
    written.add_done_callback(lambda _: timer.cancel())


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
