"""What may be asked for in a request about maintenance."""

from __future__ import annotations

import orjson
import pytest

from detector.incidents.ask import AskError
from detector.maintenance.ask import as_json, asked_period
from detector.source import Host

NOW_S = 1_800_000_000.0


def _body(**fields: object) -> bytes:
    return orjson.dumps(fields)


def test_instance_without_a_port_stands_for_the_host() -> None:
    period = asked_period(_body(instance="node7.example.org", duration="2h"), NOW_S)
    covered = [
        period.covers(Host(f"node7{rest}"), NOW_S) for rest in (".example.org:9100", ".example.org", "xexample.org")
    ]
    assert covered == [True, True, False]
    assert (period.start_s, period.end_s) == (NOW_S, NOW_S + 7200)


def test_instance_with_a_port_is_that_one() -> None:
    period = asked_period(_body(instance="node7:17720", duration=600), NOW_S)
    assert [period.covers(Host(f"node7:{port}"), NOW_S) for port in (17720, 9100)] == [True, False]


def test_job_covers_all_of_its_hosts_from_the_start_that_was_said() -> None:
    asked = _body(job="train", duration="30m", start="2027-01-15T09:00:00Z", comment="release 9")
    period = asked_period(asked, NOW_S)
    assert period.covers(Host("any:1", "train"), NOW_S + 3600)
    assert not period.covers(Host("any:1", "train"), NOW_S)
    (told,) = as_json([("api", period)])
    assert (told["start"], told["end"]) == ("2027-01-15T09:00:00Z", "2027-01-15T09:30:00Z")
    assert (told["source"], told["matchers"], told["comment"]) == ("api", ['job="train"'], "release 9")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body must be a JSON object"),
        (b"[]", "the body must be a JSON object"),
        (_body(instance="a:1"), "duration: must be a duration"),
        (_body(instance="a:1", duration="soon"), "duration: must be a duration"),
        (_body(instance="a:1", duration=0), "duration: must be longer than 0"),
        (_body(instance="a:1", duration="400d"), "at most 366d"),
        (_body(duration="2h"), "instance: must be said"),
        (_body(instance="", duration="2h"), "instance: must be said"),
        (_body(instance="a:1", duration="2h", start="later"), "start: must be seconds"),
        (_body(instance="a:1", duration="2h", until="x"), "'until': is not one of instance, job"),
        (_body(**{"in\0st": "a:1"}), r"'in\\x00st': is not one of instance, job"),
        (_body(instance="a:1", duration="2h", start=1e300), "start: must be seconds since the epoch or a time"),
        (_body(instance="a:1", duration="2h", start="9999-12-31"), "from 1970 to 9997"),
        (_body(instance=["a:1"], duration="2h"), "instance: must be text"),
        (_body(instance="a" * 300, duration="2h"), "instance: must be text of at most 200"),
        (_body(instance="a:1", duration=True), "duration: must be text"),
    ],
)
def test_wrong_request_gets_a_sentence_with_the_field(body: bytes, said: str) -> None:
    with pytest.raises(AskError, match=said):
        asked_period(body, NOW_S)
