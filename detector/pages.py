"""The detector's pages: metrics, newest verdicts, incidents, reports, maintenance, health.

https://www.tornadoweb.org/en/stable/web.html. All of them only read what the loop's sinks hold.
"""

from __future__ import annotations

import asyncio
import html
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from tornado.http1connection import HTTP1Connection
from tornado.web import Application, HTTPError, RequestHandler

from detector.clock import SystemClock
from detector.incidents.ask import AskError, asked_span
from detector.incidents.store import IncidentStore
from detector.maintenance.desk import Desk
from detector.maintenance.register import FullError, Register
from detector.report.answer import FIELDS, NotFoundError, answer, rendering

HEADER_BYTES = 16 << 10
_TAKE_S = 20.0
_MOST_UNSENT_BYTES = 16 << 20
_SMALL_BYTES = 64 << 10
_UNREADABLE = "incidents cannot be read: {}"


@dataclass(frozen=True, slots=True)
class Pages:
    """What the server shows; all callables are safe to call from its thread.

    ``health`` and ``readiness`` return "" when all is well, else the reason why not.
    """

    registry: CollectorRegistry
    verdicts: Callable[[], Sequence[Mapping[str, Any]]]
    health: Callable[[], str]
    readiness: Callable[[], str]
    about: Callable[[], Mapping[str, str]]
    incidents: IncidentStore = field(default_factory=IncidentStore)
    maintenance: Desk = field(default_factory=lambda: Desk(Register(), "", SystemClock()))


class _Site(Application):
    """All pages. ``unsent_bytes`` are kept for clients that do not take their answers."""

    unsent_bytes = 0


class _Page(RequestHandler):
    """A page made of ``Pages``."""

    application: _Site
    costly = False
    """Whether the answer takes work, so that it is refused before that is done."""

    def initialize(self, pages: Pages) -> None:
        self.pages = pages

    def set_default_headers(self) -> None:
        self.set_header("Server", "hostpulse-detector")

    def prepare(self) -> None:
        """Refuse a header that is too long: what is much too long never comes here and ends its connection."""
        lengths = (len(name) + len(value) for name, value in self.request.headers.get_all())
        if len(self.request.uri or "") + sum(lengths) > HEADER_BYTES:
            raise HTTPError(431)
        if self.costly and self.application.unsent_bytes > _MOST_UNSENT_BYTES:
            self.finish(self._come_back())

    def head(self) -> None:
        """The headers of ``get``; tornado leaves out the body."""
        self.get()

    def arguments(self, known: Sequence[str]) -> dict[str, str]:
        """The arguments of the request, each once and printable; any that is not known is refused."""
        given = self.request.query_arguments
        for name, values in given.items():
            if name not in known or len(values) != 1:
                allowed = f"must stand once and be one of {', '.join(known)}" if known else "nothing may be asked here"
                raise HTTPError(400, reason=f"{quote(name)}: {allowed}")
            if not _printable(values[0]):
                raise HTTPError(400, reason=f"{name}: must be text in UTF-8 without control characters")
        return {name: self.get_query_argument(name) for name in given}

    def finish(self, chunk: str | bytes | dict[str, Any] | None = None) -> asyncio.Future[None]:
        """Send the answer. A client that does not take it in time is cut off, or it would keep its place for ever; and
        a large one is not even begun while too much is kept for others."""
        connection, site = self.request.connection, self.application
        assert isinstance(connection, HTTP1Connection)
        if _size(chunk) > _SMALL_BYTES and site.unsent_bytes > _MOST_UNSENT_BYTES:
            chunk = self._come_back()
        taken, kept = super().finish(chunk), _size(chunk)
        if not taken.done():
            site.unsent_bytes += kept
            cut = asyncio.get_running_loop().call_later(_TAKE_S, connection.stream.close)

            def is_gone(_: asyncio.Future[None]) -> None:
                cut.cancel()
                site.unsent_bytes -= kept

            taken.add_done_callback(is_gone)
        return taken

    def _come_back(self) -> str:
        self.clear()
        self.set_status(503)
        self.set_header("Retry-After", "1")
        return "503 other clients have not taken their answers yet\n"

    def write_error(self, status_code: int, **kwargs: Any) -> None:  # noqa: ARG002 - no traceback to strangers
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        if status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.set_header("Allow", ", ".join(_allowed(type(self))))
        self.finish(f"{status_code} {self._reason}\n")


def _allowed(page: type[_Page]) -> list[str]:
    """The methods that a page answers.

    >>> _allowed(_Metrics), _allowed(_Maintenance)
    (['GET', 'HEAD'], ['GET', 'HEAD', 'POST', 'DELETE'])
    """
    methods = RequestHandler.SUPPORTED_METHODS
    return [name for name in methods if getattr(page, name.lower()) is not getattr(RequestHandler, name.lower())]


def _size(chunk: str | bytes | dict[str, Any] | None) -> int:
    return len(chunk) if isinstance(chunk, str | bytes) else 0


def _printable(value: bytes) -> bool:
    """Whether these bytes are text that has a look.

    >>> _printable("ä 1".encode()), _printable(b"\\xff"), _printable(b"\\0")
    (True, False, False)
    """
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False


class _Metrics(_Page):
    def get(self) -> None:
        try:
            encode, content_type = choose_encoder(self.request.headers.get("Accept", ""))
        except TypeError:  # a version that is no number
            encode, content_type = choose_encoder("")
        self.set_header("Content-Type", content_type)
        self.finish(encode(self.pages.registry))


class _Verdicts(_Page):
    def get(self) -> None:
        self.arguments(())
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps(list(self.pages.verdicts()), option=orjson.OPT_SERIALIZE_NUMPY))


class _Incidents(_Page):
    costly = True

    def get(self) -> None:
        try:
            text = _listed(self.pages.incidents, self.arguments(("instance", "from", "to")))
        except AskError as error:
            raise HTTPError(400, reason=str(error)) from None
        except sqlite3.Error as error:
            raise HTTPError(503, reason=_UNREADABLE.format(_one_line(error))) from None
        self.set_header("Content-Type", "application/json")
        self.finish(text)


def _listed(incidents: IncidentStore, fields: Mapping[str, str]) -> bytes:
    """The incidents that are asked for, in a frame that is gone before a client can be: the error would keep them."""
    span = asked_span(fields, incidents.instances())
    found = incidents.select(span.instance, span.from_s, span.to_s)
    return orjson.dumps({"incidents": [incident.as_json() for incident in found]})


class _Maintenance(_Page):
    def get(self) -> None:
        self.arguments(())
        self._answer(200, self.pages.maintenance.listed())

    def post(self) -> None:
        self._guard()
        self.arguments(())
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise HTTPError(415, reason="the body must be application/json")
        try:
            self._answer(201, self.pages.maintenance.begin(self.request.body))
        except AskError as error:
            raise HTTPError(400, reason=_one_line(error)) from None
        except FullError as error:
            raise HTTPError(409, reason=str(error)) from None

    def delete(self) -> None:
        self._guard()
        asked = self.arguments(("id",))
        if "id" not in asked:
            raise HTTPError(400, reason="id: must be said")
        if not self.pages.maintenance.end(asked["id"]):
            raise HTTPError(404, reason="no such period of maintenance")
        self.set_status(204)

    def _guard(self) -> None:
        status, reason = self.pages.maintenance.refusal(str(self.request.remote_ip), self.request.headers)
        if status:
            raise HTTPError(status, reason=reason)

    def _answer(self, status: int, found: Mapping[str, Any]) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps(found))


def _one_line(error: Exception) -> str:
    """What fits into the first line of an answer."""
    return " ".join(str(error).split()).encode("ascii", "replace").decode()


class _Report(_Page):
    costly = True

    def get(self) -> None:
        fields = self.arguments(FIELDS)
        try:
            content_type, text = _reported(self.pages.incidents, fields)
        except AskError as error:
            raise HTTPError(400, reason=str(error)) from None
        except NotFoundError as error:
            raise HTTPError(404, reason=str(error)) from None
        except sqlite3.Error as error:
            raise HTTPError(503, reason=_UNREADABLE.format(_one_line(error))) from None
        self.set_header("Content-Type", content_type)
        self.set_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
        self.finish(text)


def _reported(incidents: IncidentStore, fields: Mapping[str, str]) -> tuple[str, str]:
    """The type and text of a report, made in a frame that is gone before a client can be, as in ``_listed``."""
    content_type, write = rendering(fields, "html")
    return content_type, write(answer(incidents, fields))


class _Healthy(_Page):
    def get(self) -> None:
        self._answer(self.pages.health())

    def _answer(self, reason: str) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_status(503 if reason else 200)
        self.finish(f"{reason or 'ok'}\n")


class _Ready(_Healthy):
    def get(self) -> None:
        self._answer(self.pages.readiness())


class _Landing(_Page):
    def get(self) -> None:
        facts = "".join(
            f"<tr><th>{html.escape(name)}<td>{html.escape(value)}" for name, value in self.pages.about().items()
        )
        links = "".join(f'<li><a href="{path}">{path}</a>' for path in PATHS if path != "/")
        self.finish(
            "<!doctype html><html lang=en><meta charset=utf-8><title>hostpulse-detector</title>"
            "<style>body{font-family:sans-serif;margin:2em}th{text-align:left;padding-right:1em}</style>"
            f"<h1>hostpulse-detector</h1><table>{facts}</table><ul>{links}</ul>"
        )


class _Missing(_Page):
    def prepare(self) -> None:
        raise HTTPError(404)


PATHS: Mapping[str, type[_Page]] = {
    "/": _Landing,
    "/metrics": _Metrics,
    "/report": _Report,
    "/api/v1/verdicts": _Verdicts,
    "/api/v1/incidents": _Incidents,
    "/api/v1/maintenance": _Maintenance,
    "/-/healthy": _Healthy,
    "/-/ready": _Ready,
}


def site(pages: Pages) -> _Site:
    """All pages, and the answer where there is none."""
    rules: list[Any] = [(path, handler, {"pages": pages}) for path, handler in PATHS.items()]
    return _Site(rules, default_handler_class=_Missing, default_handler_args={"pages": pages})
