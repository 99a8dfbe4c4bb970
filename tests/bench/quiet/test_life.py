from __future__ import annotations

import json
import math
from functools import cache

import pytest
from scipy import stats

from bench.quiet.__main__ import main, plans
from bench.quiet.figures import figures, upper_bound
from bench.quiet.host import PROFILES
from bench.quiet.life import Alarm, Found, Life, Plan, live
from detector.verdict import Phase


@cache
def _lived() -> Life:
    return live(Plan(PROFILES[3], seed=7, days=0.7, interval_s=15.0))


def test_host_is_learned_then_calibrated_as_it_is_shipped() -> None:
    days = _lived().days
    assert sum(days.values()) == pytest.approx(0.7, abs=0.002)
    assert 0.005 < days[Phase.LEARNING] < 0.02
    assert days[Phase.CALIBRATED] > 0.02
    assert _lived().fits > 8


def test_distinct_faults_are_put_into_a_calibrated_host_and_found() -> None:
    found = _lived().found
    assert found
    assert {each.kind for each in found} <= {"shift_0", "shift_2", "shift_4", "shift_8", "distinct"}
    assert all(math.isnan(each.delay_s) or 0 < each.delay_s <= 600 for each in found)


def test_same_plan_gives_the_same_life() -> None:
    plan = Plan(PROFILES[0], seed=1, days=0.05, interval_s=15.0)
    assert live(plan) == live(plan)


def _life(phase: Phase, days: float, alarms: int, pages: int) -> Life:
    life = Life("idle-0", "idle")
    life.days[phase] = days
    life.alarms = [Alarm(float(n), str(phase), "cpu", "", page=n < pages) for n in range(alarms)]
    return life


def test_alarms_are_counted_by_phase_with_their_upper_bound() -> None:
    rows = figures([_life(Phase.PROVISIONAL, 1.0, 2, 0), _life(Phase.CALIBRATED, 9.0, 1, 1)])
    assert (rows["host_days"], rows["warnings"], rows["pages"]) == (10.0, 3, 1)
    assert rows["warning_per_day"] == pytest.approx(0.3)
    assert rows["calibrated"]["warning_per_day"] == pytest.approx(1 / 9)
    assert rows["profiles"]["idle"]["warnings"] == 3


@pytest.mark.parametrize("count", [0, 1, 5])
def test_upper_bound_is_the_rate_at_which_so_few_events_are_rare(count: int) -> None:
    rate = upper_bound(count, 64.0)
    assert stats.poisson.cdf(count, 64.0 * rate) == pytest.approx(0.05)


def test_what_was_found_is_told_by_kind_and_subsystem() -> None:
    life = Life("idle-0", "idle")
    life.found = [
        Found("shift_8", "cpu", 30.0, "cpu"),
        Found("shift_8", "memory", 90.0, "cpu"),
        Found("shift_8", "memory", math.nan, ""),
    ]
    found = figures([life])["found"]["shift_8"]
    assert (found["faults"], found["delay_s"], found["right"]) == (3, 60.0, 0.5)
    assert found["detected"] == pytest.approx(2 / 3)
    assert (found["cpu"], found["memory"]) == (1.0, 0.5)
    assert math.isnan(found["network"])
    assert figures([life])["profiles"]["idle"]["detected"]["shift_8"] == found["detected"]


def test_days_are_shared_out_among_hosts_of_every_profile() -> None:
    shared = plans(18.0, 4.0, 15.0, seed=5)
    assert [plan.profile for plan in shared] == [*PROFILES, PROFILES[0]]
    assert sum(plan.days for plan in shared) == pytest.approx(18.0)
    assert [plan.seed for plan in shared] == [5, 6, 7, 8, 9]
    assert len(plans(2.0, 4.0, 15.0, seed=0)) == 2
    assert plans(0.0, 4.0, 15.0, seed=0) == []


def test_command_ends_with_one_line_of_json_by_interval(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--days=0.02", "--days-at-1s=0", "--days-at-100ms=0", "--jobs=1", "--each", "--json"])
    table, _, line = capsys.readouterr().out.strip().rpartition("\n")
    rows = json.loads(line)
    assert list(rows) == ["15s"]
    assert rows["15s"]["hosts"] == 1
    assert "calibrated" in table


def test_host_may_be_lived_through_in_longer_windows() -> None:
    plan = plans(0.02, 4.0, 15.0, seed=5, times=3.0)[0]
    assert plan.times == 3.0
    assert 0.0 < live(plan).days[Phase.LEARNING] <= 0.02
