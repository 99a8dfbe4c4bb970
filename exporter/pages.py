"""What is served under which path, and which parameters each path takes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from http import HTTPStatus
from math import isfinite, nan
from secrets import token_hex

from tornado.httputil import HTTPServerRequest

from catalog.family import Tier
from exporter import landing, samples
from exporter.engine import Engine
from exporter.exposition import accepted
from exporter.server import BadRequestError, Page, Response

_DIGEST = re.compile(r"[0-9a-f]{16}")
_SECONDS = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)
_STALE_S = 5.0


class Pages:
    """The pages of one exporter process. ``boot`` tells clients of the samples API when they must start over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._boot = token_hex(8)
        self._collectors = frozenset(slot.name for slot in engine.slots)

    def by_path(self) -> Mapping[str, Page]:
        """All pages."""
        return {
            "/": self._landing,
            "/metrics": self._metrics,
            "/api/v1/samples": self._samples,
            "/-/healthy": lambda _: Response(b"healthy\n"),
            "/-/ready": self._ready,
        }

    def _landing(self, _: HTTPServerRequest) -> Response:
        body = landing.page(os.uname().nodename, self._engine.slots, self._engine.tally)
        return Response(body, "text/html; charset=utf-8")

    def _metrics(self, request: HTTPServerRequest) -> Response:
        only = _texts(request, "collect[]")
        for name in only:
            if name not in self._collectors:
                raise BadRequestError(
                    f"collect[]: {name!r} is no collector; allowed: {', '.join(sorted(self._collectors))}"
                )
        form = accepted(request.headers.get("Accept", ""))
        body = self._engine.exposition(form, frozenset(only) or None)
        return Response(body, form.value, compressible=True)

    def _samples(self, request: HTTPServerRequest) -> Response:
        unknown = set(request.query_arguments) - {"since", "schemas"}
        if unknown:
            raise BadRequestError(f"{min(unknown)}: no such parameter; allowed: since, schemas")
        since_s = _since(_texts(request, "since"))
        known = _digests(_texts(request, "schemas"))
        clock = self._engine.clock
        now_s = clock.now()
        origin = samples.Origin(self._boot, os.uname().nodename, now_s, clock.wall() - now_s)
        return Response(samples.encode(self._engine.since(since_s), origin, known), samples.CONTENT_TYPE)

    def _ready(self, _: HTTPServerRequest) -> Response:
        pace = self._engine.tally.paces[Tier.FAST]
        newest_s = next((row[0] for schema, row in self._engine.newest() if schema.tier is Tier.FAST), None)
        if newest_s is None:
            return Response(b"not ready: no sample has been taken yet\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
        age_s = self._engine.clock.now() - newest_s
        if age_s > max(_STALE_S, 10 * pace.interval_s):
            text = f"not ready: the newest sample is {age_s:.1f} s old\n"
            return Response(text.encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(b"ready\n")


def _texts(request: HTTPServerRequest, name: str) -> list[str]:
    """All values of a parameter; bytes that are not UTF-8 become the replacement character, which nothing allows."""
    return [value.decode("utf-8", "replace") for value in request.query_arguments.get(name, [])]


def _since(given: list[str]) -> float:
    if not given:
        return 0.0
    since_s = float(given[-1]) if _SECONDS.fullmatch(given[-1]) else nan
    if not isfinite(since_s):
        raise BadRequestError(
            f"since: {given[-1]!r} is not allowed; allowed: seconds since the epoch, such as 1700000000.5"
        )
    return since_s


def _digests(given: list[str]) -> frozenset[str]:
    known = frozenset(digest for text in given for digest in text.split(",") if digest)
    for digest in known:
        if not _DIGEST.fullmatch(digest):
            raise BadRequestError(
                f"schemas: {digest!r} is not allowed; allowed: schema hashes of 16 hexadecimal digits"
            )
    return known
