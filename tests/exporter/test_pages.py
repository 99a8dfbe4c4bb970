from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from catalog.family import Tier
from detector.samples import decode
from exporter.engine import Engine
from exporter.pages import Pages
from exporter.server import BadRequestError, Response
from tests.exporter.tiny import START_S, Hands, Script, engine, scripted


class _Site:
    """The pages of an engine of two collectors, asked without a network."""

    def __init__(self, script: Script | None = None) -> None:
        self.hands = Hands()
        self.built: Engine = engine(
            self.hands, scripted("one", Tier.FAST, script or Script()), scripted("two", Tier.FAST, Script())
        )
        self._pages = Pages(self.built).by_path()

    def tick(self, tick: int) -> None:
        self.hands.elapsed_s, self.hands.wall_s = tick / 10, START_S + tick / 10
        self.built.sampler.tick(tick)

    def get(self, uri: str, **headers: str) -> Response:
        request = HTTPServerRequest(
            start_line=RequestStartLine("GET", uri, "HTTP/1.1"), headers=HTTPHeaders({"Host": "h", **headers})
        )
        return self._pages[request.path](request)


@pytest.fixture
def site() -> _Site:
    site = _Site()
    site.tick(0)
    return site


def test_metrics_show_all_collectors_or_the_chosen_ones(site: _Site) -> None:
    both = site.get("/metrics").body.decode()
    assert ("hostpulse_test_one" in both, "hostpulse_test_two" in both) == (True, True)
    one = site.get("/metrics?collect[]=one").body.decode()
    assert ("hostpulse_test_one" in one, "hostpulse_test_two" in one) == (True, False)
    assert site.get("/metrics?collect%5B%5D=one&collect[]=two").body.decode() == both


def test_metrics_have_the_content_type_of_what_was_accepted(site: _Site) -> None:
    assert site.get("/metrics").content_type == "text/plain; version=0.0.4; charset=utf-8"
    openmetrics = site.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert openmetrics.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert openmetrics.body.endswith(b"# EOF\n")


def test_samples_since_a_time_are_the_later_rows_alone(site: _Site) -> None:
    for tick in range(1, 6):
        site.tick(tick)
    header, tables = decode(site.get("/api/v1/samples").body, {})
    fast = next(n for n, segment in enumerate(header.segments) if segment.tier == "fast")
    assert tables[fast][0].tolist() == pytest.approx([START_S + tick / 10 for tick in range(6)], abs=1e-6)
    since_s = float(tables[fast][0][3])
    header, tables = decode(site.get(f"/api/v1/samples?since={since_s!r}").body, {})
    assert [(segment.tier, segment.rows) for segment in header.segments] == [("fast", 2)]


def test_samples_know_their_process_host_and_clock(site: _Site) -> None:
    site.hands.wall_s -= 100
    header, _ = decode(site.get("/api/v1/samples").body, {})
    assert header.now_s == START_S
    assert header.wall_offset_s == pytest.approx(-100)
    assert header.instance
    again, _ = decode(site.get("/api/v1/samples").body, {})
    other, _ = decode(_Site().get("/api/v1/samples").body, {})
    assert again.boot == header.boot != other.boot


def test_known_schemas_come_without_columns_and_new_ones_with_them() -> None:
    script = Script()
    site = _Site(script)
    site.tick(0)
    first, _ = decode(site.get("/api/v1/samples").body, {})
    known = {segment.schema_hash: len(segment.columns or ()) for segment in first.segments}
    script.devices, script.read = ("a", "b", "c"), lambda: (1.0, 2.0, 3.0)
    site.tick(1)
    second, tables = decode(site.get(f"/api/v1/samples?schemas={','.join(known)}").body, known)
    fast = [segment for segment in second.segments if segment.tier == "fast"]
    assert [segment.columns is None for segment in fast] == [True, False]
    assert [table[1].shape[1] for table, segment in zip(tables, second.segments, strict=True) if segment in fast] == [
        4,
        5,
    ]


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("/metrics?collect[]=none", "collect[]: 'none' is no collector; allowed: one, two"),
        ("/metrics?collect[]=", "collect[]: "),
        ("/api/v1/samples?since=yesterday", "since: 'yesterday' is not allowed; allowed: seconds since the epoch"),
        ("/api/v1/samples?since=nan", "since: 'nan' is not allowed"),
        ("/api/v1/samples?since=inf", "since: 'inf' is not allowed"),
        ("/api/v1/samples?since=", "since: '' is not allowed"),
        ("/api/v1/samples?since=1_000", "since: '1_000' is not allowed"),
        ("/api/v1/samples?since=%205", "since: ' 5' is not allowed"),
        ("/api/v1/samples?since=%D9%A1", "since: '١' is not allowed"),
        ("/api/v1/samples?since=1e999", "since: '1e999' is not allowed"),
        ("/api/v1/samples?schemas=xyz", "schemas: 'xyz' is not allowed; allowed: schema hashes of 16"),
        ("/api/v1/samples?schemas=%ff%00", "schemas: "),
        ("/api/v1/samples?from=1", "from: no such parameter; allowed: since, schemas"),
    ],
)
def test_bad_parameter_is_named_with_what_is_allowed(site: _Site, uri: str, says: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        site.get(uri)
    assert says in str(caught.value)


def test_exporter_is_ready_from_its_first_sample_until_samples_stop() -> None:
    site = _Site()
    before = site.get("/-/ready")
    assert (before.status, before.body) == (
        HTTPStatus.SERVICE_UNAVAILABLE,
        b"not ready: no sample has been taken yet\n",
    )
    assert site.get("/-/healthy").status is HTTPStatus.OK
    site.tick(0)
    assert site.get("/-/ready").status is HTTPStatus.OK
    site.hands.move(7.5)
    late = site.get("/-/ready")
    assert (late.status, late.body) == (HTTPStatus.SERVICE_UNAVAILABLE, b"not ready: the newest sample is 7.5 s old\n")


def _failing(text: str) -> Callable[[], Sequence[float]]:
    def read() -> Sequence[float]:
        raise ValueError(text)

    return read


def test_landing_page_lists_collectors_with_state_cost_and_reason() -> None:
    site = _Site(Script(read=_failing("<script>alert('x')</script>")))
    site.tick(0)
    response = site.get("/")
    page = response.body.decode()
    assert response.content_type == "text/html; charset=utf-8"
    assert '<span class="failing">failing</span>' in page
    assert '<span class="on">on</span>' in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "ValueError 1" in page
    assert all(f'href="{link}"' in page for link in ("/metrics", "/-/ready", "/-/healthy", "/api/v1/samples"))
