"""The detector's web server: every page, and clients that are slow, many or wrong."""

from __future__ import annotations

import contextlib
import gc
import socket
from collections.abc import Iterator

import pytest
import requests

from detector.incidents.incident import Incident
from detector.incidents.store import IncidentStore
from detector.pages import PATHS, Pages
from detector.server import WebServer
from detector.sink import Context
from detector.sinks.metrics import MetricsSink, as_json
from detector.telemetry import Telemetry
from tests.detector.incidents.cases import made
from tests.detector.shell.stepped import SteppedClock
from tests.detector.shell.verdicts import HOST, alarm
from tests.servers import wait_until


class Site:
    """A server with one verdict; ``reason`` makes it unhealthy and not ready."""

    def __init__(self, max_connections: int = 8) -> None:
        self.reason, self.source = "", "<b>made</b>"
        telemetry = Telemetry()
        sink = MetricsSink.build(None, Context(SteppedClock(), telemetry, {}))
        sink.publish(alarm())
        self.incidents = IncidentStore()
        self.server = WebServer("127.0.0.1:0", max_connections)
        self.server.start(
            Pages(
                registry=telemetry.registry,
                verdicts=lambda: [as_json(one) for one in sink.newest()],
                health=lambda: self.reason,
                readiness=lambda: self.reason,
                about=lambda: {"source": self.source},
                incidents=self.incidents,
            )
        )

    def get(self, path: str, **headers: str) -> requests.Response:
        """One request."""
        return requests.get(self.server.url + path, headers=headers, timeout=5)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = self.server.url.removeprefix("http://").partition(":")
        return host, int(port)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.stop()


def test_metrics_come_as_text_by_default(site: Site) -> None:
    reply = site.get("/metrics", Accept="text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'hostpulse_anomaly_score{detector="fused"' in reply.text


def test_metrics_come_as_openmetrics_when_asked(site: Site) -> None:
    reply = site.get("/metrics", Accept="application/openmetrics-text;version=1.0.0")
    assert reply.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert reply.text.endswith("# EOF\n")


@pytest.mark.parametrize("version", ["x", "1.x", "", "1.0.0.0.x", "\u00b2"])
def test_metrics_come_whatever_version_is_asked_for(site: Site, version: str, caplog: pytest.LogCaptureFixture) -> None:
    for media in ("application/openmetrics-text", "text/plain"):
        reply = site.get("/metrics", Accept=f"{media};version={version}")
        assert (reply.status_code, 'hostpulse_anomaly_score{detector="fused"' in reply.text) == (200, True)
    assert "Traceback" not in caplog.text


def test_verdicts_come_as_json(site: Site) -> None:
    (verdict,) = site.get("/api/v1/verdicts").json()
    assert verdict["instance"] == HOST.instance
    assert verdict["causes"][0]["deviation"] == 12.5


def test_incidents_come_as_json_by_host_and_time(site: Site) -> None:
    assert site.get("/api/v1/incidents").json() == {"incidents": []}
    for number in range(3):
        site.incidents.put(made(number, end_s=None if number == 2 else float("nan")))
    everything = site.get("/api/v1/incidents").json()["incidents"]
    assert [one["id"] for one in everything] == [made(number).id for number in range(3)]
    assert everything[2]["end"] is None
    first = made(0)
    asked = f"?instance={first.instance}&from={first.onset_s - 5}&to=2027-01-15T08:10:00Z"
    assert [one["id"] for one in site.get(f"/api/v1/incidents{asked}").json()["incidents"]] == [first.id]
    assert site.get("/api/v1/incidents?instance=nobody").json() == {"incidents": []}


@pytest.mark.parametrize("page", ["/report", "/api/v1/incidents"])
def test_incidents_that_cannot_be_read_are_told_without_a_traceback(
    site: Site, page: str, caplog: pytest.LogCaptureFixture
) -> None:
    site.incidents.close()
    reply = site.get(page)
    assert (reply.status_code, reply.text) == (
        503,
        "503 incidents cannot be read: Cannot operate on a closed database.\n",
    )
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("from=yesterday", "from: must be seconds since the epoch"),
        ("from=1_0", "from: must be seconds since the epoch"),
        ("from=%D9%A1", "from: must be seconds since the epoch"),
        ("from=9&to=3", "to: must not be before from"),
        ("to=nan", "to: must be"),
        ("to=1e300", "from 1970 to 9997"),
        ("from=-1", "from 1970 to 9997"),
        ("from=9999-12-31T23:59:59-12:00", "from 1970 to 9997"),
        ("form=3", "form: must stand once and be one of instance, from, to"),
        ("to=3&to=4", "to: must stand once"),
        ("%0d%0aSet-Cookie:x=3", "%0D%0A"),
    ],
)
def test_wrong_question_is_refused_with_what_is_allowed(site: Site, asked: str, told: str) -> None:
    reply = site.get(f"/api/v1/incidents?{asked}")
    assert reply.status_code == 400
    assert told in reply.text
    assert "Set-Cookie" not in reply.headers


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("/report?incident=%00", "incident: must be text in UTF-8 without control characters"),
        ("/report?incident=%ff", "incident: must be text in UTF-8"),
        ("/api/v1/incidents?instance=%ff", "instance: must be text in UTF-8"),
        ("/api/v1/incidents?instance=a%0d%0ab", "instance: must be text in UTF-8"),
        ("/api/v1/verdicts?x=1", "x: nothing may be asked here"),
        ("/api/v1/maintenance?x=1", "x: nothing may be asked here"),
    ],
)
def test_what_nobody_can_mean_is_refused_with_the_name_of_the_field(site: Site, asked: str, told: str) -> None:
    reply = site.get(asked)
    assert (reply.status_code, told in reply.text) == (400, True)


def test_report_is_served_in_three_formats(site: Site) -> None:
    site.incidents.put(made(1))
    asked = f"/report?instance={made(1).instance}&at={made(1).opened_s}"
    page = site.get(asked)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert made(1).id in page.text
    assert site.get(f"{asked}&format=md").text.startswith(f"# {made(1).instance}: storage")
    assert site.get(f"{asked}&format=json").json()["id"] == made(1).id
    assert made(1).id.replace(":", "%3A") in site.get("/report").text, "without a question it lists what there is"
    assert site.get("/report?incident=nobody").status_code == 404
    assert site.get("/report?format=pdf").text == "400 format: must be one of html, md, json\n"


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready"])
def test_health_has_a_reason_when_it_is_bad(site: Site, path: str) -> None:
    assert (site.get(path).status_code, site.get(path).text) == (200, "ok\n")
    site.reason = "the loop hangs"
    assert (site.get(path).status_code, site.get(path).text) == (503, "the loop hangs\n")


def test_landing_page_links_every_other_page_and_quotes_what_it_shows(site: Site) -> None:
    page = site.get("/").text
    assert [path for path in PATHS if path != "/" and f'href="{path}"' not in page] == []
    assert "&lt;b&gt;made&lt;/b&gt;" in page


@pytest.mark.parametrize("path", PATHS)
def test_head_gives_the_headers_of_get_and_no_body(site: Site, path: str) -> None:
    with requests.Session() as session:
        asked = session.head(site.server.url + path, timeout=5)
        got = session.get(site.server.url + path, timeout=5)  # on the same connection: no body is in the way
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["Content-Type"] == got.headers["Content-Type"]
    assert int(asked.headers["Content-Length"]) > 0


def test_unknown_page_is_not_found(site: Site) -> None:
    reply = site.get("/nothing")
    assert (reply.status_code, reply.text) == (404, "404 Not Found\n")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/metrics", "GET, HEAD"),
        ("BREW", "/", "GET, HEAD"),
        ("PUT", "/api/v1/maintenance", "GET, HEAD, POST, DELETE"),
    ],
)
def test_method_that_a_page_lacks_is_refused_with_those_that_it_has(
    site: Site, method: str, path: str, allowed: str
) -> None:
    reply = requests.request(method, site.server.url + path, timeout=5)
    assert (reply.status_code, reply.headers["Allow"]) == (405, allowed)


def test_connections_beyond_the_limit_are_refused_and_later_ones_served() -> None:
    site = Site(max_connections=3)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(site.address, 5)) for _ in range(3)]
        for connection in held:
            connection.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        with socket.create_connection(site.address, 5) as refused:
            refused.settimeout(5)
            answer = refused.recv(1000)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nRetry-After: 1\r\n" in answer

    def served() -> bool:
        with contextlib.suppress(requests.ConnectionError):
            return site.get("/-/healthy").status_code == 200
        return False

    wait_until(served, 60, "served again")
    site.server.stop()


def test_client_that_does_not_take_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detector.pages._TAKE_S", 0.3)
    site = Site(max_connections=1)
    site.source = "x" * (64 << 20)
    with socket.create_connection(site.address, 5) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        wait_until(lambda: site.get("/-/healthy").status_code == 200, 60, "the only place is free again")
    site.server.stop()


def test_large_answers_wait_while_too_much_is_kept_for_others() -> None:
    site = Site(max_connections=8)
    site.source = "x" * (16 << 20)
    with socket.create_connection(site.address, 5) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        crowded = site.get("/")
        assert (crowded.status_code, crowded.headers["Retry-After"]) == (503, "1")
        assert "other clients" in crowded.text
        assert site.get("/api/v1/incidents").status_code == 503, "before any work is done for it"
        assert site.get("/-/healthy").status_code == 200, "what is small is answered"
    wait_until(lambda: site.get("/").status_code == 200, 60, "it is gone")
    site.server.stop()


@pytest.mark.parametrize("path", ["/api/v1/incidents", "/report?from=0"])
def test_incidents_are_not_kept_for_clients_that_have_gone(path: str) -> None:
    site = Site(max_connections=64)
    for number in range(100):
        site.incidents.put(made(number).model_copy(update={"facts": {"text": "x" * 50_000}}))
    before = sum(isinstance(thing, Incident) for thing in gc.get_objects())
    gc.disable()
    try:
        for _ in range(20):
            with socket.create_connection(site.address, 5) as gone:
                gone.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert site.get("/api/v1/incidents").json()["incidents"], "there are some, and all before were asked for"
        assert sum(isinstance(thing, Incident) for thing in gc.get_objects()) == before
    finally:
        gc.enable()
        site.server.stop()


def test_header_that_is_too_long_is_told_so(site: Site) -> None:
    assert site.get(f"/-/ready?{'x' * 20_000}").status_code == 431
    assert site.get("/", Cookie="x" * 20_000).status_code == 431


def test_large_requests_are_refused(site: Site) -> None:
    for request in (
        b"GET / HTTP/1.1\r\nCookie: " + b"x" * 100_000,
        b"POST / HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n",
    ):
        with socket.create_connection(site.address, 5) as client:
            client.sendall(request)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                answer = client.recv(1000)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert site.get("/-/healthy").status_code == 200


def test_taken_address_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        WebServer(f"127.0.0.1:{taken.getsockname()[1]}", 8)


@pytest.mark.parametrize("address", [":0", "localhost:0", "0.0.0.0:0"])
def test_address_may_be_written_in_several_ways(address: str) -> None:
    server = WebServer(address, 8)
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        assert client.getpeername()[1] == port
    server.stop()


def test_ipv6_address_is_served() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    server = WebServer("[::1]:0", 8)
    server.stop()
    assert server.url.startswith("http://[::1]:")


def test_stopped_server_gives_its_port_back() -> None:
    site = Site()
    assert site.get("/-/healthy").ok
    site.server.stop()
    with socket.create_server(site.address) as again:
        assert again.getsockname() == site.address
