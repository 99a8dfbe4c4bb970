from __future__ import annotations

import json
import math

import pytest

from bench.faults.matching import Alarm, Track, chance_hit_rate, detected, find, intervals, outside, quantile
from bench.faults.plan import Kind, Step
from bench.faults.report import summary, tables
from bench.faults.run import EMBEDDED, KMEANS, STORED, Outcome

LOSS = Step(Kind.FAULT, "packet_loss", "idle", 100.0, 30.0)
DISK = Step(Kind.FAULT, "disk", "training", 200.0, 30.0)
STRESS = Step(Kind.CONTROL, "stress-ng", "idle", 300.0, 20.0)
DOWN = Step(Kind.OUTAGE, "exporter", "idle", 400.0, 10.0)
STEPS, SECONDS = (LOSS, DISK, STRESS, DOWN), 500.0


def _track(*alarms: Alarm, scores: tuple[tuple[float, float], ...] = ()) -> Track:
    return Track(alarms, scores, names_subsystems=True)


def test_an_alarm_in_a_fault_finds_it_with_its_delay_and_what_it_blamed() -> None:
    found = find(_track(Alarm(106.0, 140.0, "network", "packet-loss")), STEPS)[0]
    assert (found.active_delay_s, found.subsystem_right, found.signature_right) == (6.0, True, True)
    wrong = find(_track(Alarm(106.0, 140.0, "storage", "disk-saturation")), STEPS)[0]
    assert (wrong.subsystem_right, wrong.signature_right) == (False, False)


def test_an_alarm_that_was_there_before_the_fault_finds_nothing() -> None:
    track = _track(Alarm(90.0, 140.0, "network"))
    assert find(track, STEPS)[0].alarm is None
    assert outside(track, STEPS, SECONDS)[0] == 1, "and is a false one"


def test_a_fault_whose_control_is_found_too_does_not_count() -> None:
    both = (Alarm(105.0, 120.0, "network"), Alarm(205.0, 230.0, "storage"))
    assert [one.step for one in detected(find(_track(*both), STEPS))] == [LOSS, DISK]
    seen = _track(*both, Alarm(310.0, 320.0, "cpu"))
    assert [one.step for one in detected(find(seen, STEPS))] == [LOSS]


def test_after_effects_are_neither_found_nor_false_and_outages_are_no_excuse() -> None:
    assert outside(_track(Alarm(150.0, 155.0, "storage")), STEPS, SECONDS)[0] == 0
    assert find(_track(Alarm(150.0, 155.0, "storage")), STEPS)[0].alarm is None
    alarms, hours = outside(_track(Alarm(405.0, 420.0, "cpu"), Alarm(50.0, 55.0, "cpu")), STEPS, SECONDS)
    assert alarms == 2
    assert hours == pytest.approx((500 - 60 - 60 - 50) / 3600)


def test_score_delay_is_until_it_passes_its_bound_and_not_known_where_it_had() -> None:
    rises = ((99.0, 0.4), (101.0, 0.9), (102.5, 1.7))
    assert find(_track(scores=rises), STEPS)[0].score_delay_s == 2.5
    assert math.isnan(find(_track(scores=((99.0, 1.2), (102.5, 1.7))), STEPS)[0].score_delay_s)


def test_chance_is_what_the_same_alarms_find_at_any_other_time() -> None:
    always = _track(*(Alarm(float(at_s), at_s + 1.0) for at_s in range(0, 500, 10)))
    assert chance_hit_rate(always, STEPS, SECONDS) == 1.0
    once = _track(Alarm(105.0, 110.0))
    assert chance_hit_rate(once, STEPS, SECONDS) == pytest.approx(34 / 500)
    assert chance_hit_rate(_track(), STEPS, SECONDS) == 0.0


def test_states_closer_than_a_gap_are_one_alarm() -> None:
    made = intervals([1, 2, 3, 20, 40], [True, True, True, True, True], 17)
    assert [(one.start_s, one.end_s) for one in made] == [(1, 20), (40, 40)]
    assert intervals([1, 2], [False, False], 5) == []


def test_quantile_is_a_value_that_was_seen() -> None:
    assert (quantile([3.0, 1.0, 2.0], 0.5), quantile([3.0, 1.0, 2.0, math.nan], 0.9)) == (2.0, 3.0)
    assert quantile([math.nan], 0.5) is None


def test_json_has_the_figures_that_were_promised() -> None:
    ours = _track(Alarm(106.0, 140.0, "network", "packet-loss"), scores=((99.0, 0.1), (102.0, 1.5)))
    peers = dict.fromkeys((STORED, "static_rules", "promql_bands", KMEANS), Track([Alarm(207.0, 215.0)]))
    outcome = Outcome(STEPS, SECONDS, {EMBEDDED: ours, **peers})
    told = json.loads(json.dumps(summary(outcome)))
    names = "faults detected subsystem_right signature_right score_delay_s_p50 active_delay_s_p50 active_delay_s_p90"
    assert list(told) == [*names.split(), "alarms_outside_faults", "hours_outside", "chance_hit_rate", "peers"]
    assert (told["faults"], told["detected"], told["score_delay_s_p50"], told["active_delay_s_p90"]) == (2, 1, 2.0, 6.0)
    assert list(told["peers"]) == ["hostpulse_prometheus", "static_rules", "promql_bands", "kmeans_per_metric"]
    assert told["peers"]["static_rules"]["detected"] == 1
    assert "subsystem_right" not in told["peers"]["static_rules"], "it blames nothing"
    text = tables(outcome)
    assert "packet-loss" in text
    assert len({len(line) for line in text.splitlines()}) <= 3, text


def test_wrong_subsystem_is_marked_in_the_table() -> None:
    outcome = Outcome(STEPS, SECONDS, {EMBEDDED: _track(Alarm(106.0, 140.0, "storage", "x"))})
    assert "storage (!)" in tables(outcome)


def test_table_tells_alarms_that_were_there_before_and_those_beside_the_faults() -> None:
    text = tables(Outcome(STEPS, SECONDS, {EMBEDDED: _track(Alarm(90.0, 140.0, "cpu"))}))
    assert "(before)" in text
    assert "outside  90 to 140 s: cpu -" in text
