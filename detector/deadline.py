"""HTTP connections that give up an answer that is not complete in time, however it trickles in.

Sockets bound each read only: https://docs.python.org/3/library/socket.html#socket.socket.settimeout. Here the time-out
of a request bounds its status line, headers and body together.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from socket import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class _Reader(io.RawIOBase):
    """Reads a socket until its time-out, counted from now on, has passed."""

    def __init__(self, connected: socket) -> None:
        super().__init__()
        self._socket = connected
        self._raw = connected.makefile("rb", buffering=0)
        timeout_s = connected.gettimeout()
        assert timeout_s is not None, "a request without a time-out could hold a thread for ever"
        self._ends_s = time.monotonic() + timeout_s

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Read some bytes; raises TimeoutError."""
        left_s = self._ends_s - time.monotonic()
        if left_s <= 0.0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Let the socket go."""
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = io.BufferedReader(_Reader(sock))


class _Connection(HTTPConnection):
    response_class = _Response


class _SecureConnection(HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_POOLS = {"http": _Pool, "https": _SecurePool}


class BoundedAdapter(HTTPAdapter):
    """For a ``requests.Session``; each request must have a time-out."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """See ``HTTPAdapter``."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """See ``HTTPAdapter``."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager
