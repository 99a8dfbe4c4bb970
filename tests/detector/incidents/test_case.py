"""Verdicts of a host become incidents: one an episode, with what an engineer asks for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from detector.incidents.case import Case
from detector.incidents.incident import Incident
from detector.verdict import Verdict
from tests.detector.incidents.cases import (
    DURATION_S,
    FAULT_ENDS_S,
    FAULT_S,
    HOST,
    LEARNED_S,
    faulty,
    followed,
    judged,
)
from tests.detector.synthetic import START_S, fault_of, synthetic_frame
from tests.detector.watching import Watched, watch


@pytest.fixture(scope="module")
def verdicts(learned: Watched) -> tuple[Verdict, ...]:
    """A host whose disk is busy for half a minute."""
    return faulty(learned, fault_of("storage", FAULT_S, FAULT_ENDS_S))


@pytest.fixture(scope="module")
def written(verdicts: tuple[Verdict, ...]) -> list[Incident]:
    return followed(verdicts)


def test_one_episode_is_one_incident_that_is_written_while_it_goes_on(written: list[Incident]) -> None:
    assert len({incident.id for incident in written}) == 1
    assert [incident.end_s is None for incident in written] == [True] * (len(written) - 1) + [False]
    assert 4 < len(written) < 15


def test_incident_says_when_it_began_opened_and_ended(written: list[Incident]) -> None:
    last = written[-1]
    assert last.end_s is not None
    assert 0 <= last.onset_s - START_S - FAULT_S <= 3
    assert 0 <= last.opened_s - last.onset_s <= 10
    assert 0 < last.end_s - START_S - FAULT_ENDS_S <= 20


def test_incident_blames_the_subsystem_and_the_channels_of_the_fault(written: list[Incident]) -> None:
    last = written[-1]
    assert (last.subsystem, max(last.shares, key=lambda name: last.shares[name])) == ("storage", "storage")
    assert sum(last.shares.values()) == pytest.approx(1.0)
    assert last.order[0].subsystem == "storage"
    assert {line.subsystem for line in last.series} == {cause.subsystem for cause in last.features}
    assert last.peak == max(score for _, score in last.curve)


def test_series_show_the_time_before_the_onset(written: list[Incident]) -> None:
    line = written[-1].series[0]
    before = [value for time_s, value in line.points if time_s < written[-1].onset_s - 3]
    during = [value for time_s, value in line.points if written[-1].onset_s + 3 <= time_s <= START_S + FAULT_ENDS_S]
    assert len(before) >= 5
    assert min(during) > max(before)
    assert sum(before) / len(before) == pytest.approx(line.typical, rel=1.0)


def test_incident_survives_json(written: list[Incident]) -> None:
    assert Incident.model_validate(written[-1].as_json()) == written[-1]
    assert {"onset", "opened", "end", "peak", "curve", "features", "signatures"} <= written[-1].as_json().keys()


def test_healthy_host_has_no_incident(learned: Watched) -> None:
    quiet = watch(synthetic_frame(DURATION_S), state=learned.state, after_s=LEARNED_S, fits=False)
    assert followed(quiet.verdicts) == []


def test_episode_that_resumes_stays_one_incident(verdicts: tuple[Verdict, ...]) -> None:
    active = [verdict for verdict in verdicts if verdict.active]
    pause = [replace(verdict, active=False, onset_s=math.nan) for verdict in active[10:15]]
    written = followed([*active[:10], *pause, *active[15:]])
    assert len({incident.id for incident in written}) == 1
    ends = [incident.end_s is None for incident in written]
    assert ends.count(False) == 1
    assert ends[-1]


def test_host_that_leaves_ends_its_incident_where_it_was_last_seen(verdicts: tuple[Verdict, ...]) -> None:
    case = Case(HOST, ())
    active = [verdict for verdict in verdicts if verdict.active]
    for verdict in active:
        case.take(judged(verdict))
    left = case.leave()
    assert left is not None
    assert left.end_s == active[-1].end_s
    assert Case(HOST, ()).leave() is None


def test_incident_that_is_open_when_the_past_is_judged_anew_ends_where_it_was_last_seen(
    verdicts: tuple[Verdict, ...],
) -> None:
    active = [verdict for verdict in verdicts if verdict.active]
    earlier = replace(verdicts[0], active=False, onset_s=math.nan)
    last = followed([*active, earlier])[-1]
    assert last.end_s == active[-1].end_s > earlier.end_s


def test_long_incident_stays_small(verdicts: tuple[Verdict, ...]) -> None:
    active = [verdict for verdict in verdicts if verdict.active]
    first = active[0]
    many = [replace(active[n % len(active)], end_s=first.end_s + n, onset_s=first.onset_s) for n in range(2000)]
    last = followed(many)[-1]
    assert 100 <= len(last.curve) <= 300
    assert last.curve[-1][0] - last.curve[0][0] > 1500
    assert all(len(line.points) <= 300 for line in last.series)
