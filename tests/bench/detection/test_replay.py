from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from bench.detection.events import inside
from bench.detection.replay import Live, features_of, learned, live, scored, shipped_judge, times_asked_for
from bench.detection.sets import SETS, Machine, load
from detector.features import Features
from detector.learning import due, fit
from detector.model import judge, rate
from detector.pipeline import judge_window
from detector.state import HostState
from tests.bench.detection.made import machine_arrays

_FAULT = (60, 100)


@cache
def _machine() -> Machine:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "one.npz"
        np.savez(path, **machine_arrays(38, 600, 160, [_FAULT], moved=12))
        return load(path, SETS["smd"])


@cache
def _learned() -> tuple[HostState, Features]:
    machine, judge_by = _machine(), shipped_judge(60.0)
    train = features_of(machine.train, machine.channels, 60.0, judge_by)
    test = features_of(machine.test, machine.channels, 601 * 60.0, judge_by)
    return learned(train, judge_by), test


@cache
def _lived() -> Live:
    state, test = _learned()
    return live(test, state, shipped_judge(60.0), inside(np.array([_FAULT]), len(test.end_s)))


def test_minutes_are_judged_by_windows_of_three_samples() -> None:
    judge_by = shipped_judge(60.0)
    assert (judge_by.window_s, judge_by.stride_s) == (180.0, 60.0)
    assert shipped_judge(1.0).window_s == 3.0


def test_longer_windows_are_averaged_over_fewer_and_later_ones_keep_the_rule_in_strides() -> None:
    assert [shipped_judge(60.0, times).smoothing.windows for times in (1.0, 2.0, 5.0)] == [10, 5, 2]
    judge_by = shipped_judge(60.0, 2.0, strides=2)
    assert (judge_by.window_s, judge_by.stride_s) == (360.0, 120.0)
    assert (judge_by.merge_s, judge_by.freeze_limit_s) == (600.0, 36_000.0)


def test_windows_are_as_far_apart_as_they_are_asked_to_be() -> None:
    machine, judge_by = _machine(), shipped_judge(60.0, 2.0, strides=2)
    each = features_of(machine.train, machine.channels, 60.0, replace(judge_by, stride_s=60.0))
    apart = features_of(machine.train, machine.channels, 60.0, judge_by, strides=2)
    assert apart.end_s.tolist() == each.end_s[::2].tolist()
    assert np.array_equal(apart.x, each.x[::2], equal_nan=True)


def test_what_a_window_says_is_said_until_the_next_one() -> None:
    state, test = _learned()
    assert state.model is not None
    table = scored(state.model, test.x, shipped_judge(60.0))
    held, lived = table.at(np.array([0, 0, 5])), _lived().at(np.array([0, 70, 70]))
    assert held.scores["fused"].tolist() == table.scores["fused"][[0, 0, 5]].tolist()
    assert held.alarms["forest"].tolist() == table.alarms["forest"][[0, 0, 5]].tolist()
    assert lived.score[1] == lived.score[2] == _lived().score[70]
    assert lived.subsystem[2] == _lived().subsystem[70]


def test_only_a_host_that_changes_slowly_asks_for_longer_windows() -> None:
    machine, judge_by = _machine(), shipped_judge(60.0)
    fast = learned(features_of(machine.train, machine.channels, 60.0, judge_by), judge_by)
    wave = 0.3 * np.sin(np.arange(len(machine.train))[:, None] / 15.0)
    slow = learned(features_of(machine.train + wave, machine.channels, 60.0, judge_by), judge_by)
    assert times_asked_for(fast, judge_by) == 1.0
    assert 2.0 <= times_asked_for(slow, judge_by) <= 4.0


def test_model_is_of_the_train_split_alone() -> None:
    state, _ = _learned()
    assert state.model is not None
    assert state.model.rows == 600
    assert (state.last_end_s, state.fits) == (600 * 60.0, 1)


def test_scores_of_one_model_are_the_shipped_ones_and_raised_by_the_fault() -> None:
    state, test = _learned()
    assert state.model is not None
    table = scored(state.model, test.x, shipped_judge(60.0))
    assert list(table.scores) == ["fused", "deviation", "forest", "subspace"]
    means = judge(state.model, test.x[21:31]).normalised.mean(axis=0, keepdims=True)
    assert table.scores["fused"][30] == pytest.approx(rate(state.model, means).fused[0])
    for name, score in table.scores.items():
        assert np.median(score[65:95]) > np.quantile(score[:55], 0.95), name


def test_running_pipeline_finds_the_fault_and_blames_its_column_and_subsystem() -> None:
    lived = _lived()
    assert not lived.active[:60].any()
    assert lived.active[60:100].any()
    assert lived.evidence[60:70].sum(axis=0).argmax() == 12
    assert not lived.evidence[:60].any()
    assert lived.subsystem[int(lived.active.argmax())] == "storage"


def test_replay_says_what_the_pipeline_says_window_by_window() -> None:
    state, test = _learned()
    lived, judge_by = _lived(), shipped_judge(60.0)
    for row in range(len(test.end_s)):
        window = Features(test.end_s[row : row + 1], test.x[row : row + 1], test.features)
        state, verdict = judge_window(window, state, judge_by)
        assert verdict.score == pytest.approx(lived.score[row], rel=1e-9)
        assert verdict.active == lived.active[row]
        if due(state, verdict.end_s, judge_by):
            state = fit(state, judge_by)
    assert (state.fits - 1, state.rebaselines) == (lived.fits, lived.rebaselines)


def test_what_comes_later_changes_nothing_before() -> None:
    state, test = _learned()
    x = test.x.copy()
    x[90:] += 5.0
    other = live(replace(test, x=x), state, shipped_judge(60.0), np.zeros(len(x), dtype=bool))
    lived = _lived()
    assert (other.active[:90] == lived.active[:90]).all()
    assert other.shares[:90] == pytest.approx(lived.shares[:90])
    assert other.subsystem[:90] == lived.subsystem[:90]
