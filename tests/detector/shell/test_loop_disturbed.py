"""The loop where something comes between: answers that nobody understands, settings at an unlucky moment, long fits."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from detector.frame import Frame
from detector.judge import Judge
from detector.source import Host
from detector.state import HostState
from detector.store import Store
from detector.trainer import Judging
from detector.verdict import Phase, Verdict
from tests.detector.shell.stepped import (
    HOST,
    START_S,
    Bench,
    MadeSource,
    counting_fit,
    due_from,
    scoring_step,
    wait_for_fit,
)
from tests.servers import wait_until


def test_list_of_hosts_that_nobody_understands_is_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    def senseless() -> list[Host]:
        raise KeyError("value")

    bench = Bench()
    bench.go(10)
    usual, bench.source.hosts = bench.source.hosts, senseless  # type: ignore[method-assign]
    bench.go(10)
    assert bench.loop.unready() == "KeyError: 'value'"
    assert bench.notebook.troubles == [(HOST, "KeyError: 'value'")]
    assert caplog.text.count("no hosts: KeyError: 'value'") == 1
    assert bench.sample("hostpulse_detector_read_errors_total", source="made") > 5
    bench.source.hosts = usual  # type: ignore[method-assign]
    bench.go(10)
    assert bench.loop.unready() == ""


def test_settings_that_are_taken_over_while_a_saved_model_is_looked_for_do_not_cost_it(tmp_path: Path) -> None:
    looking, let_go = threading.Event(), threading.Event()

    class SlowStore(Store):
        def told_s(self, host: Host) -> float:
            looking.set()
            let_go.wait(60)
            return super().told_s(host)

    due_once = Judging(scoring_step, lambda state, end_s, _: not state.fits and end_s - START_S >= 10, counting_fit)
    bench = Bench(due_once, directory=tmp_path)
    bench.go(20, each=lambda: wait_for_fit(bench))
    bench.loop.close()
    bench.clock.wait(7)
    bench.store = SlowStore(tmp_path, 3)
    bench.new_loop()
    bench.loop.round()
    wait_until(looking.is_set, 60, "the saved model is looked for")
    bench.source = MadeSource(bench.clock, HOST)
    bench.loop.reconfigure(bench.settings, bench.source, Store(tmp_path, 3))
    let_go.set()
    bench.go(10)
    assert bench.notebook.ends_s() == list(range(3, 37))
    assert all(judged.verdict.phase is Phase.PROVISIONAL for judged in bench.notebook.judged[-17:])


def test_episode_that_was_told_during_a_fit_stays_counted() -> None:
    let_go = threading.Event()

    def slow_fit(state: HostState, judge: Judge) -> HostState:
        assert let_go.wait(30)
        return replace(state, fits=state.fits + 1)

    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        opens = not state.fits and end_s - START_S == 15
        state, verdict = scoring_step(frame, state, end_s, judge)
        return replace(state, episodes=state.episodes + opens, pages=state.pages + opens), verdict

    bench = Bench(Judging(step, due_from(10).due, slow_fit))
    bench.go(20)
    let_go.set()
    wait_for_fit(bench)
    bench.go(5)
    (watch,) = bench.loop._watches.values()
    assert (watch.state.fits, watch.state.episodes, watch.state.pages) == (1, 1, 1)


def test_fits_that_would_wait_for_long_are_begun_later_as_what_is_judged_meanwhile_is_kept() -> None:
    let_go = threading.Event()

    def slow_fit(state: HostState, judge: Judge) -> HostState:
        assert let_go.wait(60)
        return replace(state, fits=state.fits + 1)

    hosts = tuple(Host(f"{number}:1", "hostpulse") for number in range(6))
    bench = Bench(Judging(scoring_step, due_from(10).due, slow_fit), hosts=hosts)
    bench.go(20)
    assert sum(watch.fit is not None for watch in bench.loop._watches.values()) == 2
    let_go.set()
    bench.go(10, each=lambda: wait_for_fit(bench))
    assert [watch.state.fits for watch in bench.loop._watches.values()] == [1] * 6
    assert bench.notebook.ends_s(hosts[-1]) == list(range(3, 30))
