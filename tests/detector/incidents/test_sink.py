"""Incidents on their way into the store, and over a restart of the program in the middle of one."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterable
from itertools import pairwise

import pytest

from catalog.outputs import SINK_ERRORS
from detector.clock import SystemClock
from detector.incidents.incident import Incident
from detector.incidents.store import IncidentStore
from detector.sink import Context
from detector.sinks.incidents import IncidentSink
from detector.telemetry import Telemetry
from detector.verdict import Verdict
from tests.detector.incidents.cases import FAULT_ENDS_S, FAULT_S, HOST, faulty, judged, made
from tests.detector.shell.stepped import SteppedClock
from tests.detector.synthetic import fault_of
from tests.detector.watching import Watched

BEFORE = 12  # windows of the episode before it


@pytest.fixture(scope="module")
def verdicts(learned: Watched) -> tuple[Verdict, ...]:
    return faulty(learned, fault_of("storage", FAULT_S, FAULT_ENDS_S))


def run(store: IncidentStore, verdicts: Iterable[Verdict], *, leaves: bool = False) -> None:
    """What one run of the program writes."""
    sink = IncidentSink(Context(SystemClock(), Telemetry(), {}, store))
    for verdict in verdicts:
        sink.publish(judged(verdict))
    if leaves:
        sink.leave(HOST)
    sink.close()


def kept(store: IncidentStore) -> Incident:
    (found,) = store.select()
    return found


@pytest.fixture(scope="module")
def whole(verdicts: tuple[Verdict, ...]) -> Incident:
    """The incident as a run knows it that was there all the time."""
    store = IncidentStore()
    run(store, verdicts)
    return kept(store)


@pytest.fixture(scope="module")
def halves(verdicts: tuple[Verdict, ...]) -> tuple[Incident, Incident]:
    """As it is when the program is killed in the middle of it, and at the end of the next run."""
    active = [number for number, verdict in enumerate(verdicts) if verdict.active]
    store = IncidentStore()
    run(store, verdicts[: active[BEFORE]])
    first = kept(store)
    run(store, verdicts[active[BEFORE] :])
    return first, kept(store)


def test_restart_in_an_incident_loses_nothing_of_what_was_known(halves: tuple[Incident, Incident]) -> None:
    before, after = halves
    assert before.end_s is None
    assert after.end_s is not None
    assert after.signatures[0].confidence >= before.signatures[0].confidence
    assert {one.name for one in before.signatures} <= {one.name for one in after.signatures}
    assert (after.id, after.onset_s, after.opened_s) == (before.id, before.onset_s, before.opened_s)
    assert after.order[0] == before.order[0]
    assert after.peak >= before.peak
    assert after.series[0].points[0][0] < after.onset_s, "what was before the onset is still shown"


def test_restart_in_an_incident_changes_little_of_it(halves: tuple[Incident, Incident], whole: Incident) -> None:
    _, after = halves
    assert after.signatures[0].name == whole.signatures[0].name
    assert after.subsystem == whole.subsystem
    assert (after.features, after.votes, after.peak) == (whole.features, whole.votes, whole.peak)
    assert after.shares == pytest.approx(whole.shares, abs=0.1)
    times_s = [time_s for time_s, _ in after.curve]
    assert times_s == sorted(set(times_s))
    missing = {time_s for time_s, _ in whole.curve} - set(times_s)
    assert len(missing) <= 2, "what was not yet written when the program was killed"
    for line in after.series:
        points_s = [time_s for time_s, _ in line.points]
        assert points_s == sorted(set(points_s))


def test_run_that_saw_the_higher_score_says_what_it_was_like() -> None:
    first = made(1, end_s=None, peak=4.0, page=True, votes={"forest": 4.0}, facts={"kernel": "6.1", "cpus": "2"})
    later = made(1, opened=first.opened_s + 90.0, curve=((first.onset_s + 90.0, 1.5),), facts={"kernel": "6.12"})
    for one, other in ((first, later), (first.model_copy(update={"peak": 2.0}), later)):
        both = other.continuing(one)
        higher = max(one, other, key=lambda incident: incident.peak)
        assert (both.peak, both.votes, both.page) == (higher.peak, higher.votes, True)
        assert both.curve == ((first.onset_s, 1.2), (first.onset_s + 1.0, 2.5), (first.onset_s + 90.0, 1.5))
        assert both.facts == {"kernel": "6.12", "cpus": "2"}


def test_shares_of_two_runs_count_by_how_much_each_saw() -> None:
    first = made(1, shares={"cpu": 1.0}, curve=tuple((float(second), 2.0) for second in range(30)))
    later = made(1, shares={"storage": 1.0}, curve=tuple((float(second), 2.0) for second in range(30, 40)))
    assert later.continuing(first).shares == pytest.approx({"cpu": 0.75, "storage": 0.25})


def test_past_that_is_judged_anew_takes_the_place_of_what_was_known(verdicts: tuple[Verdict, ...]) -> None:
    store = IncidentStore()
    run(store, verdicts, leaves=True)
    before = kept(store)
    run(store, verdicts, leaves=True)
    assert kept(store) == before


def test_what_an_earlier_run_left_open_ends_where_it_was_last_seen(verdicts: tuple[Verdict, ...]) -> None:
    store = IncidentStore()
    left = made(-1, HOST, end_s=None)
    store.put(left)
    run(store, verdicts[:1])
    assert kept(store).end_s == left.seen_s


class Full(IncidentStore):
    """One whose disk is full at times."""

    full = False

    def put(self, incident: Incident, now_s: float = math.inf) -> None:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        super().put(incident, now_s)


def written(sink: IncidentSink) -> None:
    """Wait until all is written that was handed over, or could not be."""
    sink._thread.submit(lambda: None).result(60)


class Slow(IncidentStore):
    """One whose disk hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go, self.begun, self.puts = threading.Event(), threading.Event(), 0

    def put(self, incident: Incident, now_s: float = math.inf) -> None:
        self.begun.set()
        assert self.let_go.wait(60)
        self.puts += 1
        super().put(incident, now_s)


def test_of_an_incident_that_waits_to_be_written_only_its_newest_state_is_kept() -> None:
    store = Slow()
    sink = IncidentSink(Context(SystemClock(), Telemetry(), {}, store))
    states = [made(0, HOST).model_copy(update={"peak": float(number)}) for number in range(50)]
    sink._write(states[0])
    assert store.begun.wait(60)
    for state in states[1:]:
        sink._write(state)
    store.let_go.set()
    sink.close()
    assert (store.puts, kept(store)) == (2, states[-1])


def test_end_that_could_not_be_written_is_written_once_there_is_room(verdicts: tuple[Verdict, ...]) -> None:
    store, clock = Full(), SteppedClock()
    sink = IncidentSink(Context(clock, Telemetry(), {}, store))
    over = next(number for number, (one, next_one) in enumerate(pairwise(verdicts), 1) if one.active > next_one.active)
    for verdict in verdicts[:over]:
        sink.publish(judged(verdict))
    written(sink)
    assert kept(store).end_s is None
    store.full = True
    for verdict in verdicts[over : over + 2]:
        sink.publish(judged(verdict))
        written(sink)
    assert kept(store).end_s is None
    store.full = False
    clock.wait(60)
    sink.publish(judged(verdicts[over + 2]))
    sink.close()
    assert kept(store).end_s == verdicts[over].end_s


def test_what_an_earlier_run_left_open_and_cannot_be_ended_is_told(
    verdicts: tuple[Verdict, ...], caplog: pytest.LogCaptureFixture
) -> None:
    store, telemetry = Full(), Telemetry()
    store.put(made(-1, HOST, end_s=None))
    store.full = True
    sink = IncidentSink(Context(SystemClock(), telemetry, {}, store))
    sink.publish(judged(verdicts[0]))
    sink.close()
    assert telemetry.registry.get_sample_value(SINK_ERRORS.name, {"sink": sink.name}) == 1.0
    assert caplog.messages == ["incidents cannot be written, judging goes on: database or disk is full"]
