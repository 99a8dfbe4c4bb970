"""Maintenance over HTTP: who may set it, and what wrong requests are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from prometheus_client import CollectorRegistry

from detector.clock import SystemClock
from detector.maintenance.desk import Desk
from detector.maintenance.register import Register
from detector.pages import Pages
from detector.server import WebServer
from detector.source import Host

PATH = "/api/v1/maintenance"
NODE7 = Host("node7:17720")
ASKED = {"instance": "node7", "duration": "2h", "comment": "new firmware"}


class Site:
    """A server with a desk."""

    def __init__(self, token: str = "", directory: Path | None = None) -> None:
        self.register = Register(directory)
        desk = Desk(self.register, token, SystemClock())
        self.server = WebServer("127.0.0.1:0", 8)
        self.server.start(Pages(CollectorRegistry(), list, str, str, dict, maintenance=desk))
        self.url = self.server.url + PATH

    def covered(self) -> bool:
        return self.register.covers(NODE7, SystemClock().wall_s())


@pytest.fixture(scope="module")
def guarded() -> Iterator[Site]:
    made = Site("a secret")
    yield made
    made.server.stop()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(directory=tmp_path)
    yield made
    made.server.stop()


def test_maintenance_is_set_listed_and_ended(site: Site) -> None:
    made = requests.post(site.url, json=ASKED, timeout=5)
    assert made.status_code == 201
    assert site.covered()
    (listed,) = requests.get(site.url, timeout=5).json()["maintenance"]
    assert listed | {"saved": True} == made.json()
    assert (listed["source"], listed["comment"]) == ("api", "new firmware")
    assert requests.delete(site.url, params={"id": listed["id"]}, timeout=5).status_code == 204
    assert not site.covered()
    assert requests.get(site.url, timeout=5).json() == {"maintenance": [], "saved": True}
    assert requests.delete(site.url, params={"id": listed["id"]}, timeout=5).status_code == 404


def test_who_sets_what_a_restart_forgets_is_told_so(site: Site, tmp_path: Path) -> None:
    (tmp_path / "maintenance.part").mkdir()
    made = requests.post(site.url, json=ASKED, timeout=5)
    assert (made.status_code, made.json()["saved"]) == (201, False)
    assert site.covered()
    assert requests.get(site.url, timeout=5).json()["saved"] is False


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({**ASKED, "duration": "soon"}, 400, "400 duration: must be a duration such as 500ms, 3s, 10m or 1h30m\n"),
        ({**ASKED, "until\r\nX": "é"}, 400, r"400 'until\r\nX': is not one of"),
    ],
)
def test_wrong_request_is_told_what_is_allowed(site: Site, body: dict[str, str], status: int, said: str) -> None:
    reply = requests.post(site.url, json=body, timeout=5)
    assert (reply.status_code, reply.text.startswith(said)) == (status, True), reply.text
    assert not site.covered()


def test_delete_needs_an_id_and_nothing_else(site: Site) -> None:
    assert requests.delete(site.url, timeout=5).text == "400 id: must be said\n"
    assert requests.delete(site.url, params={"name": "x"}, timeout=5).status_code == 400


def test_web_pages_cannot_set_maintenance(site: Site) -> None:
    assert requests.post(site.url, json=ASKED, headers={"Origin": "http://evil.example"}, timeout=5).status_code == 403
    assert requests.post(site.url, data='{"instance": "node7"}', timeout=5).status_code == 415
    assert not site.covered()


@pytest.mark.parametrize(
    ("header", "status"),
    [(None, 401), ("Bearer wrong", 401), ("Bearer ", 401), ("Bearer é", 401), ("Bearer a secret", 201)],
)
def test_token_is_needed_where_there_is_one(guarded: Site, header: str | None, status: int) -> None:
    headers = {"Authorization": header.encode()} if header else {}
    assert requests.post(guarded.url, json=ASKED, headers=headers, timeout=5).status_code == status
    assert requests.get(guarded.url, timeout=5).ok


@pytest.mark.parametrize(
    ("address", "status"),
    [("127.0.0.1", 0), ("::1", 0), ("::ffff:127.0.0.1", 0), ("10.0.0.1", 403), ("::ffff:10.0.0.1", 403), ("", 403)],
)
def test_without_a_token_only_this_machine_may(address: str, status: int) -> None:
    desk = Desk(Register(), "", SystemClock())
    assert desk.refusal(address, {})[0] == status
