"""Which hosts and times a period covers."""

from __future__ import annotations

import pytest

from detector.maintenance.period import Matcher, Period
from detector.source import Host

NODE7 = Host("node7:17720", "hostpulse")


@pytest.mark.parametrize(
    ("matcher", "holds"),
    [
        (Matcher("instance", "node7:17720"), True),
        (Matcher("instance", "node7"), False),
        (Matcher("instance", "node[78](:.*)?", is_regex=True), True),
        (Matcher("instance", "node", is_regex=True), False),
        (Matcher("instance", "node8:17720", is_equal=False), True),
        (Matcher("instance", "node7.*", is_regex=True, is_equal=False), False),
        (Matcher("rack", ""), True),
        (Matcher("rack", "a"), False),
        (Matcher("instance", "(", is_regex=True), False),
    ],
    ids=str,
)
def test_matcher_holds_as_alertmanager_has_it(matcher: Matcher, holds: bool) -> None:
    assert Period("a", (matcher,), 10.0, 20.0).covers(NODE7, 15.0) is holds


def test_period_begins_with_its_start_and_is_over_at_its_end() -> None:
    period = Period("a", (Matcher("job", "hostpulse"),), 10.0, 20.0)
    assert [period.covers(NODE7, at_s) for at_s in (9.9, 10.0, 19.9, 20.0)] == [False, True, True, False]
    assert not period.covers(Host("node7:17720", "other"), 15.0)


def test_matcher_reads_as_in_promql() -> None:
    texts = [str(Matcher("a", "b", regex, equal)) for regex in (False, True) for equal in (True, False)]
    assert texts == ['a="b"', 'a!="b"', 'a=~"b"', 'a!~"b"']
