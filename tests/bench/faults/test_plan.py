from __future__ import annotations

from collections import Counter

import pytest

from bench.faults.__main__ import main
from bench.faults.plan import LEAST_QUIET_S, Kind, TooShortError, plan
from bench.faults.suite import CONTROLS, FAULTS, LOADS, OUTAGES
from catalog.family import Subsystem


def test_forty_minutes_hold_each_fault_control_and_outage_once() -> None:
    made = plan(40, 1, list(FAULTS), 30)
    assert len(FAULTS) >= 14
    assert Counter((step.kind, step.name) for step in made.steps) == Counter(
        [(Kind.FAULT, name) for name in FAULTS]
        + [(Kind.CONTROL, name) for name in CONTROLS]
        + [(Kind.OUTAGE, name) for name in OUTAGES]
    )
    assert {step.load for step in made.steps if step.kind is Kind.FAULT} == set(LOADS)


def test_it_is_quiet_for_as_long_between_any_two_steps() -> None:
    made = plan(40, 1, list(FAULTS), 30)
    gaps = [after.start_s - before.end_s for before, after in zip(made.steps, made.steps[1:], strict=False)]
    assert gaps == pytest.approx([made.quiet_s] * len(gaps))
    assert made.quiet_s >= LEAST_QUIET_S
    assert made.seconds + made.baseline_s <= 40 * 60


def test_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    first, again, other = (plan(40, seed, list(FAULTS), 30) for seed in (1, 1, 2))
    assert first == again
    assert [step.name for step in first.steps] != [step.name for step in other.steps]


def test_only_the_controls_of_the_faults_that_were_chosen_are_planned() -> None:
    made = plan(20, 1, ["packet_loss"], 30)
    assert [step.name for step in made.steps if step.kind is Kind.CONTROL] == ["packets"]


def test_too_few_minutes_are_refused_with_how_many_are_needed() -> None:
    with pytest.raises(TooShortError, match=r"--minutes 10 do not suffice for 18 faults of 30 s .* at least 36 are"):
        plan(10, 1, list(FAULTS), 30)
    assert plan(36, 1, list(FAULTS), 30).quiet_s >= LEAST_QUIET_S


def test_command_says_what_is_wrong_with_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "5"]) == 2
    assert "--minutes 5 do not suffice" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--faults", "cpu,gremlins"])
    assert "--faults: 'gremlins' is not allowed; allowed: cpu, memory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--fault-seconds", "soon"])
    assert "--fault-seconds: 'soon' is not allowed; allowed: 5 to 540" in capsys.readouterr().err


def test_each_fault_names_subsystems_that_there_are() -> None:
    assert {name for fault in FAULTS.values() for name in fault.subsystems} <= set(Subsystem)
    assert {fault.control for fault in FAULTS.values()} == set(CONTROLS)
