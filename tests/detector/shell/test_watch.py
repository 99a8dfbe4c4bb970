"""How settings become a judge, and what a saved model depends on."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from detector.claim import FILE, Claim
from detector.service import StartError, build_source, build_store
from detector.source import Host
from detector.store import Store, sweep
from detector.watch import config_hash, judge_for
from tests.detector.conftest import fill_up
from tests.detector.shell.stepped import SteppedClock, settings


@pytest.fixture
def claim() -> Iterator[Claim]:
    taken = Claim()
    yield taken
    taken.release()


def test_judge_is_made_of_the_settings() -> None:
    given = settings(
        window={"duration": "5s", "stride": "2s"},
        baseline={"duration": "7m"},
        alarms_per_host_day={"warning": 2, "page": 0.1},
        episode={"merge": "90s", "freeze_limit": "20m"},
    )
    judge = judge_for(given, 0.1)
    assert (judge.window_s, judge.stride_s, judge.baseline_s) == (5, 2, 420)
    assert (judge.warning_per_day, judge.page_per_day) == (2, 0.1)
    assert (judge.merge_s, judge.freeze_limit_s) == (90, 1200)


def test_rarely_sampled_host_is_given_as_many_windows_as_another() -> None:
    judge = judge_for(settings(), 60.0)
    assert (judge.stride_s, judge.smoothing.windows) == (60.0, 10)
    assert (judge.merge_s, judge.freeze_limit_s) == (300.0, 18_000.0)
    assert judge_for(settings(), 0.1).smoothing.windows == 1


@pytest.mark.parametrize(("duration", "stride"), [("10s", "100ms"), ("1h", "36s"), ("200ms", "200ms"), ("1h", "1h")])
def test_every_window_that_is_allowed_can_be_judged(duration: str, stride: str) -> None:
    given = settings(window={"duration": duration, "stride": stride, "adaptive_limit": 10})
    for interval_s, window_s in product((0.1, 1.0, 15.0, 60.0), (math.nan, math.inf)):
        judge = judge_for(given, interval_s, window_s)
        assert judge.window_s >= 3 * interval_s
        assert judge.lookback_s > judge.window_s


def test_window_that_a_host_came_to_counts_where_windows_are_adaptive_and_within_bounds() -> None:
    given = settings(window={"adaptive_limit": 4})
    assert judge_for(given, 0.1).window_bounds_s == (3.0, 12.0)
    assert [judge_for(given, 0.1, window_s).window_s for window_s in (1.0, 7.0, 99.0)] == [3.0, 7.0, 12.0]
    assert judge_for(given, 60.0, 600.0).window_s == 600.0
    assert judge_for(given, 60.0, 600.0).smoothing.windows == 3
    assert judge_for(settings(), 0.1, 7.0) == judge_for(settings(), 0.1)


def test_saved_model_is_found_again_whatever_window_the_host_came_to() -> None:
    given = settings(window={"adaptive_limit": 4})
    hashes = {config_hash(judge_for(given, 0.1, window_s)) for window_s in (3.0, 7.0, 12.0)}
    others = {config_hash(judge_for(settings(window={"adaptive_limit": limit}), 0.1)) for limit in (1, 3)}
    assert len(hashes) == 1
    assert len(hashes | others) == 3


def test_saved_model_depends_on_how_a_host_is_judged_only() -> None:
    judged: list[dict[str, Any]] = [
        {},
        {"window": {"duration": "5s"}},
        {"baseline": {"duration": "7m"}},
        {"alarms_per_host_day": {"warning": 0.4}},
    ]
    hashes = [config_hash(judge_for(settings(**sections), 0.1)) for sections in judged]
    assert len(set(hashes)) == len(hashes)
    beside = settings(web={"max_connections": 9}, state={"generations": 9}, log={"level": "debug"})
    assert config_hash(judge_for(beside, 0.1)) == hashes[0]
    assert config_hash(judge_for(settings(), 15.0)) != hashes[0]
    assert config_hash(judge_for(settings(), 0.104)) == hashes[0], "scrapes jitter"


def test_what_was_learned_at_one_rate_is_not_used_at_another_though_windows_are_the_same() -> None:
    often, seldom = judge_for(settings(), 0.1), judge_for(settings(), 0.6)
    assert (often.window_s, often.stride_s) == (seldom.window_s, seldom.stride_s)
    assert config_hash(often) != config_hash(seldom)


def test_chosen_source_is_built_with_its_settings() -> None:
    source = build_source(
        settings(source={"exporter": {"targets": "http://a:1,http://b:2", "job": "edge"}}), SteppedClock()
    )
    assert [(host.instance, host.job) for host in source.hosts()] == [("a:1", "edge"), ("b:2", "edge")]
    assert build_source(settings(source={"kind": "prometheus"}), SteppedClock()).name == "prometheus"


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"STATE_DIRECTORY": "{0}/systemd:{0}/other", "XDG_STATE_HOME": "{0}/xdg"}, "systemd"),
        ({"XDG_STATE_HOME": "{0}/xdg", "HOME": "{0}/home"}, "xdg/hostpulse"),
        ({"HOME": "{0}/home"}, "home/.local/state/hostpulse"),
    ],
)
def test_folder_of_models_is_found_where_the_system_wants_it(
    variables: dict[str, str], folder: str, tmp_path: Path, claim: Claim
) -> None:
    environment = {name: text.format(tmp_path) for name, text in variables.items()}
    assert build_store(settings(), environment, claim) is not None
    assert (tmp_path / folder).is_dir()


def test_no_place_for_models_is_a_warning_and_a_named_one_an_error(
    tmp_path: Path, claim: Claim, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    assert build_store(settings(), {"XDG_STATE_HOME": str(tmp_path / "file")}, claim) is None
    assert "models are not saved" in caplog.text
    with pytest.raises(StartError, match=r"state\.directory"):
        build_store(settings(state={"directory": str(tmp_path / "file")}), {}, claim)
    assert build_store(settings(state={"directory": ""}), {}, claim) is None


def test_folder_belongs_to_one_detector_until_it_ends(
    tmp_path: Path, claim: Claim, caplog: pytest.LogCaptureFixture
) -> None:
    named = settings(state={"directory": str(tmp_path / "hostpulse")})
    first, second = Claim(), claim
    for _ in range(2):  # as at the start and when settings are read again
        assert build_store(named, {}, first) is not None
    who = f"another detector uses it: process {os.getpid()} on {socket.gethostname()}"
    with pytest.raises(StartError, match=rf"^state\.directory: {tmp_path / 'hostpulse'} cannot be used: {who}$"):
        build_store(named, {}, second)
    assert build_store(settings(), {"XDG_STATE_HOME": str(tmp_path)}, second) is None
    assert f"{tmp_path / 'hostpulse'} cannot be used: {who}" in caplog.text
    first.release()
    assert build_store(named, {}, second) is not None
    assert (tmp_path / "hostpulse" / FILE).exists()


def test_what_ended_programs_left_half_saved_is_removed_at_the_start_alone(tmp_path: Path, claim: Claim) -> None:
    named = settings(state={"directory": str(tmp_path)})
    Store(tmp_path, 3).save(Host("a:1", "hostpulse"), "c", {}, {}, 1000.0, 1000.0)
    (whole,) = tmp_path.glob("*.npz")
    half, foreign = whole.with_suffix(".part"), tmp_path / "of somebody else.part"
    half.touch()
    foreign.touch()
    assert build_store(named, {}, claim) is not None
    assert (half.exists(), whole.exists(), foreign.exists()) == (False, True, True)
    half.touch()  # a save is under way when the settings are read again
    assert build_store(named, {}, claim) is not None
    assert half.exists()


def test_models_of_hosts_that_left_a_quarter_ago_are_removed_at_the_start(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    for number, age_days in enumerate((400, 311, 309)):  # nothing was saved for most of a year: that costs no model
        store.save(Host(f"{number}:1", "hostpulse"), "c", {}, {}, 1000.0, 1000.0)
        saved_s = time.time() - age_days * 86400
        os.utime(next(tmp_path.glob(f"{number}*.npz")), (saved_s, saved_s))
    sweep(tmp_path)
    assert sorted(file.name[0] for file in tmp_path.glob("*.npz")) == ["1", "2"]
    sweep(tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 2


def test_folder_belongs_to_one_detector_though_there_is_no_room_to_say_whose(tiny: Path, claim: Claim) -> None:
    fill_up(tiny)
    named = settings(state={"directory": str(tiny)})
    first, second = Claim(), claim
    assert build_store(named, {}, first) is not None
    with pytest.raises(StartError, match="another detector uses it: another process"):
        build_store(named, {}, second)
    first.release()
    assert build_store(named, {}, second) is not None
