from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import struct
import threading
from collections.abc import Iterator, Mapping

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPInputError, HTTPServerRequest
from tornado.netutil import bind_sockets

from exporter.connection import understood
from exporter.server import BadRequestError, Page, Response, Server
from tests.servers.process import wait_until

_LIMIT_S = 60.0
_LARGE = b"hostpulse " * 30_000
_HUGE = bytes(64 << 20)


def _fail(_: HTTPServerRequest) -> Response:
    raise BadRequestError("count: 'x' is not allowed; allowed: numbers")


_PAGES: Mapping[str, Page] = {
    "/": lambda _: Response(b"hello\n"),
    "/large": lambda _: Response(_LARGE, compressible=True),
    "/binary": lambda _: Response(_LARGE, "application/octet-stream"),
    "/huge": lambda _: Response(_HUGE, "application/octet-stream"),
    "/bad": _fail,
}


@contextlib.contextmanager
def _serving(*, timeout_s: float = 5.0, max_connections: int = 64) -> Iterator[tuple[str, int]]:
    """A server of the pages above in a thread of its own; yields host and port."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = []

    async def run() -> None:
        server = Server(_PAGES, timeout_s=timeout_s, max_connections=max_connections)
        sockets = bind_sockets(0, "127.0.0.1")
        server.add_sockets(sockets)
        end = asyncio.Event()
        started.append((asyncio.get_running_loop(), end, sockets[0].getsockname()[1]))
        await end.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    loop, end, port = wait_until(lambda: started, _LIMIT_S, "the server runs")[0]
    try:
        yield "127.0.0.1", port
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(_LIMIT_S)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with _serving() as (host, port):
        yield f"http://{host}:{port}"


def _raw(address: tuple[str, int], request: bytes) -> bytes:
    """What the server sends until it closes the connection."""
    with socket.create_connection(address, _LIMIT_S) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_page_is_served_with_its_type_and_length_and_without_the_servers_name(url: str) -> None:
    reply = requests.get(url, timeout=_LIMIT_S)
    assert (reply.status_code, reply.text, reply.headers["Content-Type"]) == (
        200,
        "hello\n",
        "text/plain; charset=utf-8",
    )
    assert reply.headers["Content-Length"] == "6"
    assert "Server" not in reply.headers
    assert "tornado" not in str(reply.headers).lower()


def test_head_gives_the_headers_of_get_and_no_body(url: str) -> None:
    reply = requests.head(f"{url}/large", timeout=_LIMIT_S, headers={"Accept-Encoding": "identity"})
    assert (reply.status_code, reply.content, reply.headers["Content-Length"]) == (200, b"", str(len(_LARGE)))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_not_allowed(url: str, method: str) -> None:
    reply = requests.request(method, url, data=b"x", timeout=_LIMIT_S)
    assert (reply.status_code, reply.headers["Allow"]) == (405, "GET, HEAD")


def test_unknown_path_is_told_what_there_is(url: str) -> None:
    reply = requests.get(f"{url}/metric", timeout=_LIMIT_S)
    assert reply.status_code == 404
    assert "/large" in reply.text


def test_bad_request_is_told_what_is_allowed(url: str) -> None:
    reply = requests.get(f"{url}/bad", timeout=_LIMIT_S)
    assert (reply.status_code, reply.text) == (400, "count: 'x' is not allowed; allowed: numbers\n")


@pytest.mark.parametrize(
    ("path", "accept", "compressed"),
    [
        ("/large", "gzip", True),
        ("/large", "br, gzip;q=0.5", True),
        ("/large", "identity", False),
        ("/large", "gzip;q=0", False),
        ("/large", "gzip; q=0.0", False),
        ("/", "gzip", False),
        ("/binary", "gzip", False),
    ],
)
def test_body_is_compressed_only_when_asked_for_and_large(url: str, path: str, accept: str, compressed: bool) -> None:
    reply = requests.get(url + path, headers={"Accept-Encoding": accept}, timeout=_LIMIT_S, stream=True)
    body = reply.raw.read(decode_content=False)
    assert (reply.headers.get("Content-Encoding") == "gzip") is compressed
    assert (gzip.decompress(body) if compressed else body) == (b"hello\n" if path == "/" else _LARGE)
    assert ("Accept-Encoding" in reply.headers.get("Vary", "")) is (path == "/large")


def test_one_connection_serves_many_requests(url: str) -> None:
    with requests.Session() as session:
        assert [session.get(url, timeout=_LIMIT_S).status_code for _ in range(20)] == [200] * 20


def test_requests_that_come_together_are_answered_in_order(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    asked = ("GET / HTTP/1.1", "POST / HTTP/1.1\r\nContent-Length: 3", "HEAD / HTTP/1.1", "GET /bad HTTP/1.1")
    bodies = ("", "abc", "", "")
    requests_bytes = "".join(f"{ask}\r\nHost: h\r\n\r\n{body}" for ask, body in zip(asked, bodies, strict=True))
    last = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    answer = _raw((host, int(port)), (requests_bytes + last).encode())
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"405", b"200", b"400", b"200"]
    assert answer.count(b"hello") == 2


def test_client_with_many_requests_at_once_keeps_nobody_waiting() -> None:
    with _serving() as address, socket.create_connection(address, _LIMIT_S) as greedy, contextlib.ExitStack() as stack:
        greedy.setblocking(False)
        flood = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 1000

        def keep_asking() -> None:
            while not over.wait(0.001):
                with contextlib.suppress(BlockingIOError):
                    greedy.send(flood)
                    greedy.recv(1 << 20)

        over = threading.Event()
        asking = threading.Thread(target=keep_asking)
        asking.start()
        stack.callback(asking.join)
        stack.callback(over.set)
        for _ in range(20):
            assert b"hello" in _raw(address, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("asked", ["http://h:1/", "HTTP://h", "http://h?x=1", "https://user@[::1]:1/?x"])
def test_request_with_a_whole_url_asks_for_its_path(url: str, asked: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"GET {asked} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    assert _raw((host, int(port)), request.encode()).endswith(b"\r\n\r\nhello\n")


@pytest.mark.parametrize(
    ("version", "wishes"), [("1.1", "close, TE"), ("1.1", "TE,Close"), ("1.0", "keep-alive, close"), ("1.0", "TE")]
)
def test_wish_for_an_end_is_heard_among_others(url: str, version: str, wishes: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    answer = _raw((host, int(port)), f"GET / HTTP/{version}\r\nHost: h\r\nConnection: {wishes}\r\n\r\n".encode())
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(
    ("wish", "stays"), [("", False), ("Connection: Keep-Alive\r\n", True), ("Connection: TE, keep-alive\r\n", True)]
)
def test_old_client_keeps_its_connection_only_when_it_asks_to(url: str, wish: str, stays: bool) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), _LIMIT_S) as connection:
        answers = b""
        for _ in range(1 + stays):
            connection.sendall(f"GET / HTTP/1.0\r\n{wish}\r\n".encode())
            while not answers.endswith(b"hello\n"):
                answers += connection.recv(1000)
            assert (b"connection: keep-alive" in answers.lower()) is stays
            answers = b""
        assert stays or connection.recv(1000) == b""


def test_slow_client_is_cut_off_and_keeps_nobody_waiting() -> None:
    with _serving(timeout_s=1.0) as address, socket.create_connection(address, _LIMIT_S) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        assert b"hello" in _raw(address, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert slow.recv(100) == b"", "closed by the server"


def test_client_that_sends_its_body_slowly_is_cut_off() -> None:
    with _serving(timeout_s=1.0) as address, socket.create_connection(address, _LIMIT_S) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
        assert slow.recv(100) == b""


def test_client_that_does_not_take_its_answer_is_cut_off() -> None:
    with _serving(timeout_s=1.0, max_connections=1) as address, socket.create_connection(address, _LIMIT_S) as slow:
        slow.sendall(b"GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
        request = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        answer = wait_until(lambda: b"hello" in _raw(address, request), _LIMIT_S, "the only place is free again")
        assert answer


def test_answers_that_nobody_takes_are_few_and_small_ones_still_given() -> None:
    asked = "GET {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    with _serving() as address, socket.create_connection(address, _LIMIT_S) as greedy:
        greedy.sendall(asked.format("/huge").encode())
        assert greedy.recv(12) == b"HTTP/1.1 200"
        refused = _raw(address, asked.format("/huge").encode())
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in refused
        assert b"hello" in _raw(address, asked.format("/").encode())
        greedy.close()
        answered = wait_until(lambda: len(_raw(address, asked.format("/huge").encode())) > 1000, _LIMIT_S, "room again")
        assert answered


def test_connections_beyond_the_limit_are_told_to_come_back() -> None:
    with _serving(max_connections=2) as address, contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(address, _LIMIT_S)) for _ in range(2)]
        for connection in held:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert b"200 OK" in connection.recv(1000)
        refused = _raw(address, b"")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1" in refused
        held[0].close()
        request = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        assert wait_until(lambda: b"hello" in _raw(address, request), _LIMIT_S, "a place is free again")


@given(st.binary(max_size=200) | st.text("GET /?=&%[]:; \r\nHTTP/1.0Host", max_size=80).map(str.encode))
def test_any_bytes_are_a_request_or_malformed(heard: bytes) -> None:
    try:
        request = understood(heard + b"\r\n\r\n")
    except HTTPInputError:
        return
    assert request.method
    assert request.version in ("HTTP/1.0", "HTTP/1.1")


def test_client_that_leaves_after_a_malformed_request_is_nothing_to_log(caplog: pytest.LogCaptureFixture) -> None:
    reset = struct.pack("ii", 1, 0)  # how long to linger: not at all, so that no answer can be written
    with _serving(max_connections=20) as address:

        def answered() -> bool:
            with contextlib.suppress(ConnectionError):  # there are still too many others
                return b"hello" in _raw(address, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            return False

        for _ in range(50):
            with socket.create_connection(address, _LIMIT_S) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                connection.sendall(b"nonsense\r\n\r\n" * 100)
        assert wait_until(answered, _LIMIT_S, "a place is free again")
    assert caplog.records == []


@pytest.mark.parametrize("line", ["GET /{} HTTP/1.1\r\nHost: h", "GET / HTTP/1.1\r\nHost: h\r\nX: {}"])
def test_header_that_is_too_long_is_told_so(url: str, line: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    answer = _raw((host, int(port)), f"{line.format('x' * 20_000)}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        bytes(range(256)) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"\r\n\r\n",
    ],
    ids=[
        "nonsense",
        "long-header",
        "large-body",
        "odd-version",
        "binary",
        "no-host",
        "chunked",
        "negative-length",
        "two-lengths",
        "empty",
    ],
)
def test_malformed_request_ends_its_connection_alone(url: str, request_bytes: bytes) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    answer = _raw((host, int(port)), request_bytes)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
    assert requests.get(url, timeout=_LIMIT_S).ok
