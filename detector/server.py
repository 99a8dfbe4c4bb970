"""The web server, with a bound on what clients can take. https://www.tornadoweb.org/en/stable/httpserver.html.

It has a thread of its own, so that a slow client cannot delay a verdict.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, StreamClosedError

from detector.listening import listen
from detector.pages import HEADER_BYTES, Pages, site

_IDLE_S = 30.0
_BODY_S = 5.0
_BODY_BYTES = 4 << 10
_REFUSAL_S = 1.0
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
_START_S = 10.0
_STOP_S = 0.5


class _BoundedServer(HTTPServer):
    """Tells connections beyond a number to come back."""

    max_connections = 64
    _open = 0

    def initialize(self, *arguments: Any, **settings: Any) -> None:
        super().initialize(*arguments, **settings)
        self._refusals: set[asyncio.Task[None]] = set()

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        if self._open < self.max_connections:
            self._open += 1
            super().handle_stream(stream, address)
        elif len(self._refusals) < self.max_connections:
            refusal = asyncio.get_running_loop().create_task(_refuse(stream))
            self._refusals.add(refusal)
            refusal.add_done_callback(self._refusals.discard)
        else:
            stream.close()

    def on_close(self, server_conn: object) -> None:
        self._open -= 1
        super().on_close(server_conn)


async def _refuse(stream: IOStream) -> None:
    """Say no, and close once the request is in: closing before that resets the connection, and the no is lost."""
    timer = asyncio.get_running_loop().call_later(_REFUSAL_S, stream.close)
    try:
        await stream.write(_BUSY)
        await stream.read_until(b"\r\n\r\n", max_bytes=HEADER_BYTES)
    except StreamClosedError:
        return
    finally:
        timer.cancel()
        stream.close()


class WebServer:
    """Has its address from the start, serves between ``start`` and ``stop``.

    Raises OSError where the address cannot be had.
    """

    def __init__(self, address: str, max_connections: int) -> None:
        self._socket = listen(address)
        bound = self._socket.getsockname()
        self.url = f"http://{f'[{bound[0]}]' if ':' in bound[0] else bound[0]}:{bound[1]}"
        self._max_connections = max_connections
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._thread: threading.Thread | None = None

    def start(self, pages: Pages) -> None:
        """Serve on a thread of its own."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(pages)), name="web", daemon=True)
        self._thread.start()
        assert self._started.wait(_START_S), "the web server's thread did not start"

    def stop(self) -> None:
        """Close the sockets; open requests get a moment."""
        if self._thread is None or self._loop is None:
            self._socket.close()
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_S)

    async def _serve(self, pages: Pages) -> None:
        self._loop = asyncio.get_running_loop()
        server = _BoundedServer(
            site(pages),
            idle_connection_timeout=_IDLE_S,
            body_timeout=_BODY_S,
            max_header_size=3 * HEADER_BYTES,
            max_body_size=_BODY_BYTES,
        )
        server.max_connections = self._max_connections
        server.add_socket(self._socket)
        self._started.set()
        await self._stopping.wait()
        server.stop()
        await asyncio.wait_for(server.close_all_connections(), _STOP_S / 2)
