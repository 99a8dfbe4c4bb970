"""Reports in every format: complete, self-contained, and harmless whatever names hosts and devices have."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser

import pytest

from detector.diagnosis.library import signatures
from detector.incidents.ask import AskError
from detector.incidents.incident import Incident
from detector.incidents.store import IncidentStore
from detector.report import document
from detector.report.answer import FORMATS, NotFoundError, answer, rendering
from detector.source import Host
from tests.detector.incidents.cases import FAULT_ENDS_S, FAULT_S, faulty, followed, made
from tests.detector.synthetic import START_S, fault_of
from tests.detector.watching import Watched

EVIL = '<img src=x onerror=alert(1)>"&'


@pytest.fixture(scope="module")
def incident(learned: Watched) -> Incident:
    """A host whose disk is busy for half a minute."""
    return followed(faulty(learned, fault_of("storage", FAULT_S, FAULT_ENDS_S)))[-1]


@pytest.fixture(scope="module")
def store(incident: Incident) -> IncidentStore:
    kept = IncidentStore()
    kept.put(incident)
    return kept


def written(store: IncidentStore, form: str, **fields: str) -> str:
    return FORMATS[form][1](answer(store, fields))


class Page(HTMLParser):
    """What a page of HTML holds; balanced or not, and what it would fetch."""

    void = frozenset({"meta", "br", "img", "link", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.fetched: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.fetched += [
            value or "" for name, value in attrs if name in {"src", "srcset"} or (tag, name) == ("link", "href")
        ]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_page_says_what_happened_where_since_when_and_what_to_do(store: IncidentStore, incident: Incident) -> None:
    words = Page(written(store, "html", incident=incident.id)).words
    signature = signatures()["disk-saturation"]
    for told in (
        incident.instance,
        document.moment(incident.onset_s),
        signature.title,
        *(check.run for check in signature.check),
        *signature.change,
        'storage_busy_ratio{device="vda"}',
    ):
        assert told in words


def test_page_needs_nothing_from_elsewhere_and_runs_nothing(store: IncidentStore, incident: Incident) -> None:
    text = written(store, "html", incident=incident.id)
    page = Page(text)
    assert (page.open, page.fetched, page.counts.get("script")) == ([], [], None)
    assert "url(" not in text
    assert "@import" not in text
    assert 'name="viewport"' in text
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert len(text) < 60_000


def test_page_draws_the_score_and_what_moved(store: IncidentStore, incident: Incident) -> None:
    text = written(store, "html", incident=incident.id)
    assert text.count("<svg ") == 1 + len(incident.series)
    points = [
        float(number)
        for found in re.findall(r'polyline[^>]*points="([^"]+)"', text)
        for number in re.split("[ ,]", found)
    ]
    assert points
    assert 0 <= min(points) <= max(points) <= 1000


def test_markdown_is_a_ticket(store: IncidentStore, incident: Incident) -> None:
    text = written(store, "md", incident=incident.id)
    assert text.startswith(f"# {incident.instance}: storage\n")
    assert "| for | The disk is busy for more of the time. | storage_busy_ratio" in text
    assert "      iostat -x 1 5\n" in text
    widths = {line.count("|") for line in text.split("## What moved")[1].split("**")[0].strip().splitlines()}
    assert widths == {7}


def test_json_is_the_incident(store: IncidentStore, incident: Incident) -> None:
    assert Incident.model_validate(json.loads(written(store, "json", incident=incident.id))) == incident


@pytest.mark.parametrize("form", FORMATS)
def test_names_of_strangers_do_no_harm(form: str) -> None:
    store = IncidentStore()
    series = ({"channel": EVIL, "subsystem": "cpu", "unit": EVIL, "typical": 1.0, "points": ((START_S, 1.0),)},)
    store.put(made(1, Host(EVIL, EVIL), series=series, facts={EVIL: EVIL}))
    for fields in ({"at": str(START_S + 3700)}, {"instance": EVIL}):
        text = written(store, form, **fields)
        assert form == "json" or ("&lt;img" in text and "<img" not in text)


@pytest.mark.parametrize("form", FORMATS)
def test_incident_of_which_little_is_known_has_a_report_too(form: str) -> None:
    store = IncidentStore()
    store.put(made(1, curve=(), votes={}, shares={}, subsystem="unknown", end_s=None))
    text = written(store, form, incident=made(1).id)
    assert form == "json" or "No known cause fits" in text


def test_alert_leads_to_the_incident_it_was_about() -> None:
    store = IncidentStore()
    for number in (0, 1, 2):
        store.put(made(number))
    store.put(made(1, Host("other:1", "j")))

    def at(elapsed_s: float, instance: str = made().instance) -> str:
        data: Mapping[str, object] = answer(store, {"instance": instance, "at": str(START_S + elapsed_s)}).data
        return str(data.get("id", "period"))

    assert at(3600 + 30) == made(1).id
    assert at(3600 + 300) == made(1).id, "the alert was read late"
    assert at(3600 - 20) == made(1).id, "the clocks differ"
    assert at(3600 + 30, "other:1") == made(1, Host("other:1", "j")).id
    assert at(9 * 3600) == "period"


def test_host_is_found_by_its_name_without_a_port_where_one_has_it() -> None:
    store = IncidentStore()
    store.put(made(1))
    store.put(made(2, Host("other:1", "j")))
    assert answer(store, {"instance": "other"}).data["incidents"][0]["id"] == made(2, Host("other:1", "j")).id
    assert answer(store, {"instance": "nobody"}).data["incidents"] == []
    store.put(made(3, Host("other:2", "j")))
    with pytest.raises(AskError, match=r"^instance: 'other' has several; it must be one of other:1, other:2$"):
        answer(store, {"instance": "other"})


def test_period_says_what_dominates() -> None:
    store = IncidentStore()
    cause = {"statistic": "mean", "subsystem": "storage", "unit": "B", "typical": 1.0, "actual": 2.0, "deviation": 3.0}
    store.put(made(1, features=({**cause, "channel": "storage_dirty_bytes"},)))
    store.put(made(2, features=({**cause, "channel": "storage_dirty_bytes"}, {**cause, "channel": "cpu_user_ratio"})))
    report = answer(store, {"instance": made().instance})
    pattern = report.data["pattern"]
    assert pattern["signals"] == pytest.approx({"storage_dirty_bytes": 0.75, "cpu_user_ratio": 0.25})
    assert pattern["subsystems"] == pytest.approx({"storage": 0.8, "cpu": 0.2})
    assert list(pattern["causes"]) == ["unknown"]
    assert "2 incidents, 0 worth a page, 2 min 0 s in all" in report.lead
    page = Page(written(store, "html"))
    assert f"report?incident={made(1).id}".replace(":", "%3A") in written(store, "html")
    assert page.open == []


def test_period_without_incidents_says_so() -> None:
    assert "No incident is known" in answer(IncidentStore(), {"from": "0", "to": "10"}).lead


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"at": "soon"}, "at: must be seconds"),
        ({"from": "5", "to": "1"}, "to: must not be before from"),
        ({"at": "5", "from": "1"}, "^at: cannot be asked for together with from, only with instance and format$"),
        ({"incident": "x", "at": "5", "to": "9"}, "^incident: cannot be asked for together with at and to, only with"),
    ],
)
def test_wrong_question_names_the_field(fields: dict[str, str], told: str) -> None:
    with pytest.raises(AskError, match=told):
        answer(IncidentStore(), fields)


def test_unknown_incident_and_unknown_format_are_refused() -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        answer(IncidentStore(), {"incident": "nobody"})
    with pytest.raises(AskError, match="format: must be one of html, md, json"):
        rendering({"format": "pdf"}, "html")


def test_examples_in_the_module_are_right() -> None:
    assert doctest.testmod(document).failed == 0
