"""The loop: each window once and in time, hosts apart from each other, models fitted and saved on the side."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from detector.frame import Frame
from detector.judge import Judge
from detector.sink import Judged
from detector.state import HostState
from detector.trainer import Judging
from detector.verdict import Phase, Verdict
from tests.detector.shell.stepped import (
    HOST,
    OTHER,
    START_S,
    Bench,
    MadeSource,
    Notebook,
    counting_fit,
    due_from,
    never_due,
    scoring_step,
    settings,
    wait_for_fit,
)
from tests.servers import wait_until


def test_each_window_is_judged_once_and_in_order() -> None:
    bench = Bench()
    bench.go(20)
    assert bench.notebook.ends_s() == list(range(3, 20))


def test_verdict_comes_soon_after_its_window() -> None:
    bench = Bench()
    bench.go(20)
    assert max(judged.lag_s for judged in bench.notebook.judged) < 0.2


def test_windows_end_on_multiples_of_the_stride() -> None:
    bench = Bench(sections={"window": {"duration": "2s", "stride": "0.5s"}})
    bench.source.began_s = START_S + 0.3
    bench.go(10)
    assert bench.notebook.ends_s() == [n / 2 for n in range(5, 20)]


def test_source_on_another_clock_is_judged_on_its_own() -> None:
    bench = Bench()
    bench.source.shift_s, bench.source.began_s = 1000.4, START_S + 1000.4
    bench.go(20)
    assert bench.notebook.ends_s() == list(range(1004, 1021))
    assert max(judged.lag_s for judged in bench.notebook.judged) < 0.2


def test_history_that_fills_a_baseline_is_judged_at_the_start() -> None:
    bench = Bench(sections={"baseline": {"duration": "300s"}})
    bench.source.began_s = START_S - 400
    bench.go(5)
    ends_s = bench.notebook.ends_s()
    assert ends_s == list(range(int(ends_s[0]), int(ends_s[-1]) + 1))
    assert (ends_s[0] < -300, ends_s[-1] >= 4) == (True, True)


def test_history_too_short_for_a_baseline_is_left_alone() -> None:
    bench = Bench(sections={"baseline": {"duration": "300s"}})
    bench.source.began_s = START_S - 200
    bench.go(5)
    assert bench.notebook.ends_s()[0] >= 0


def test_history_beyond_the_horizon_is_left_out() -> None:
    bench = Bench(sections={"baseline": {"duration": "60s"}})
    bench.source.began_s = START_S - 100_000
    bench.go(5)
    assert -130 < bench.notebook.ends_s()[0] < -110
    assert bench.sample("hostpulse_detector_windows_skipped_total") == 0


def test_short_outage_is_caught_up() -> None:
    bench = Bench()
    bench.go(10)
    bench.source.failing[HOST] = "no route"
    bench.go(30)
    del bench.source.failing[HOST]
    bench.go(10)
    assert bench.notebook.ends_s() == list(range(3, 50))


def test_windows_of_a_long_outage_are_skipped_and_counted() -> None:
    bench = Bench(sections={"baseline": {"duration": "60s"}})
    bench.go(10)
    bench.source.failing[HOST] = "no route"
    bench.go(1000)
    del bench.source.failing[HOST]
    bench.go(20)
    ends_s = bench.notebook.ends_s()
    skipped = bench.sample("hostpulse_detector_windows_skipped_total")
    assert ends_s[-1] >= 1028
    assert skipped > 800
    assert len(ends_s) + skipped == ends_s[-1] - 2


def test_outage_gives_no_verdicts() -> None:
    bench = Bench()
    bench.go(10)
    bench.source.down = "connection refused"
    before = len(bench.notebook.judged)
    bench.go(30)
    assert len(bench.notebook.judged) == before


def test_outage_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "detector")
    bench = Bench()
    bench.go(10)
    bench.source.failing[HOST] = "no route to a:1"
    bench.go(30)
    del bench.source.failing[HOST]
    bench.go(10)
    messages = [record.message for record in caplog.records]
    assert sum("no route to a:1" in message for message in messages) == 1
    assert sum("judged again" in message for message in messages) == 1
    assert bench.notebook.troubles == [(HOST, "no route to a:1")]
    assert bench.sample("hostpulse_detector_read_errors_total", source="made") > 20


def test_failing_host_leaves_the_others_alone() -> None:
    bench = Bench(hosts=(HOST, OTHER))
    bench.source.failing[OTHER] = "no route"
    bench.go(20)
    assert bench.notebook.ends_s(HOST) == list(range(3, 20))
    assert bench.notebook.ends_s(OTHER) == []
    assert bench.sample("hostpulse_detector_hosts_failing") == 1


def test_hanging_host_leaves_the_others_alone() -> None:
    bench = Bench(hosts=(HOST, OTHER), sections={"window": {"stride": "0.1s", "duration": "1s"}})
    bench.source.hung[OTHER] = threading.Event()
    bench.go(2)
    bench.clock.wait(10)
    bench.go(0.2)
    bench.source.hung[OTHER].set()
    assert bench.notebook.ends_s(HOST)[-1] > 12
    assert bench.notebook.ends_s(OTHER) == []
    assert (OTHER, "no answer from the source for 10 s") in bench.notebook.troubles


def test_host_without_new_samples_is_in_trouble() -> None:
    bench = Bench()
    bench.go(10)
    frozen_s = bench.clock.wall_s()
    bench.source.newest_s = lambda host: frozen_s  # type: ignore[method-assign]
    bench.go(30)
    assert bench.notebook.troubles == [(HOST, "no new samples for 10 s")]
    assert bench.loop.unready() == "no new samples for 10 s"


def test_error_in_judging_one_host_leaves_the_others_alone(caplog: pytest.LogCaptureFixture) -> None:
    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        if state.instance == OTHER.instance:
            raise ZeroDivisionError("a bug")
        return scoring_step(frame, state, end_s, judge)

    bench = Bench(Judging(step, never_due, counting_fit), hosts=(HOST, OTHER))
    bench.go(20)
    assert bench.notebook.ends_s(HOST) == list(range(3, 20))
    assert bench.sample("hostpulse_detector_step_errors_total") > 10
    assert sum("a bug" in (record.exc_text or "") for record in caplog.records) == 1


@pytest.mark.parametrize(("error", "traced"), [(RuntimeError("full"), True), (OSError(28, "full"), False)])
def test_failing_sink_harms_no_other(error: Exception, traced: bool, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Notebook):
        name = "broken"

        def publish(self, judged: Judged) -> None:
            raise error

    bench = Bench()
    bench.loop._sinks = [Broken(), bench.notebook]
    bench.go(10)
    assert bench.notebook.ends_s() == list(range(3, 10))
    assert bench.sample("hostpulse_detector_sink_errors_total", sink="broken") == 7
    (record,) = (record for record in caplog.records if record.getMessage().startswith("sink broken failed"))
    assert bool(record.exc_info) is traced


def test_host_that_leaves_is_said_to_have_left_and_goes_on_when_it_returns() -> None:
    bench = Bench(hosts=(HOST, OTHER))
    bench.go(10)
    bench.source.present = (HOST,)
    bench.go(10)
    bench.source.present = (HOST, OTHER)
    bench.go(10)
    assert bench.notebook.left == [OTHER]
    assert bench.notebook.ends_s(OTHER) == list(range(3, 30))
    assert bench.sample("hostpulse_detector_hosts") == 2


def test_rarely_sampled_host_gets_wide_windows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "detector")
    bench = Bench()
    bench.source.interval = 15.0
    bench.go(200)
    assert {(judged.window_s, judged.stride_s) for judged in bench.notebook.judged} == {(45.0, 15.0)}
    assert bench.notebook.ends_s() == list(range(45, 200, 15))
    assert "windows are widened to 45 s" in caplog.text


def test_host_whose_clock_was_set_back_is_learned_anew(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.go(10)
    bench.source.shift_s, bench.source.began_s = -3600.0, START_S - 3600
    bench.go(10)
    assert bench.notebook.ends_s()[-1] in (-3581, -3580)
    assert "went back" in caplog.text


def test_model_is_fitted_when_due_and_then_used() -> None:
    bench = Bench(due_from(10))
    bench.go(20, each=lambda: wait_for_fit(bench))
    phases = [judged.verdict.phase for judged in bench.notebook.judged]
    assert phases[:8] == [Phase.LEARNING] * 8
    assert phases[9:] == [Phase.PROVISIONAL] * len(phases[9:])
    assert bench.notebook.ends_s() == list(range(3, 20))


def test_scoring_goes_on_during_a_fit_and_no_window_is_lost_by_it() -> None:
    let_go = threading.Event()

    def slow_fit(state: HostState, judge: Judge) -> HostState:
        assert let_go.wait(30)
        return replace(state, fits=state.fits + 1)

    bench = Bench(Judging(scoring_step, due_from(10).due, slow_fit))
    bench.go(20)
    assert bench.notebook.ends_s() == list(range(3, 20))
    let_go.set()
    wait_for_fit(bench)
    bench.go(5)
    assert bench.notebook.ends_s() == list(range(3, 25))
    (watch,) = bench.loop._watches.values()
    assert watch.state.fits == 1
    assert watch.state.last_end_s - START_S == 24


def test_one_model_is_fitted_at_a_time() -> None:
    running, most = itertools.count(), []
    lock = threading.Lock()

    def watched_fit(state: HostState, judge: Judge) -> HostState:
        assert lock.acquire(blocking=False), "two fits at once"
        most.append(next(running))
        lock.release()
        return replace(state, fits=1)

    bench = Bench(Judging(scoring_step, due_from(5).due, watched_fit), hosts=(HOST, OTHER))
    bench.go(20, each=lambda: wait_for_fit(bench))
    assert most == [0, 1]


def test_failed_fit_is_counted_and_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    def failing_fit(state: HostState, judge: Judge) -> HostState:
        raise ValueError("singular")

    bench = Bench(Judging(scoring_step, due_from(5).due, failing_fit))
    bench.go(30, each=lambda: wait_for_fit(bench))
    assert bench.sample("hostpulse_detector_fit_errors_total") == 1
    bench.go(60, each=lambda: wait_for_fit(bench))
    assert bench.sample("hostpulse_detector_fit_errors_total") == 2
    assert bench.notebook.ends_s() == list(range(3, 90))
    assert "singular" in caplog.text


def test_restart_goes_on_with_the_saved_model(tmp_path: Path) -> None:
    bench = Bench(due_from(10), directory=tmp_path)
    bench.go(20, each=lambda: wait_for_fit(bench))
    bench.loop.close()
    bench.clock.wait(7)
    bench.new_loop()
    bench.go(10)
    assert bench.notebook.ends_s() == list(range(3, 37))
    assert all(judged.verdict.phase is Phase.PROVISIONAL for judged in bench.notebook.judged[-17:])


def test_model_learned_under_other_settings_is_not_used(tmp_path: Path) -> None:
    bench = Bench(due_from(10), directory=tmp_path)
    bench.go(20, each=lambda: wait_for_fit(bench))
    bench.loop.close()
    bench.sections = {"window": {"duration": "5s"}}
    bench.new_loop()
    bench.go(3)
    assert bench.notebook.judged[-1].verdict.phase is Phase.LEARNING


def test_state_is_saved_at_intervals_and_after_a_fit(tmp_path: Path) -> None:
    bench = Bench(due_from(10), sections={"state": {"interval": "30s"}}, directory=tmp_path)
    bench.go(15, each=lambda: wait_for_fit(bench))
    wait_until(lambda: len(list(tmp_path.glob("*.npz"))) == 1, 60, "saved after the fit")
    bench.go(30, each=lambda: wait_for_fit(bench))
    wait_until(lambda: len(list(tmp_path.glob("*.npz"))) == 2, 60, "saved after the interval")
    assert bench.sample("hostpulse_detector_save_errors_total") == 0


def test_save_that_fails_is_counted_and_judging_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(due_from(10), sections={"state": {"interval": "5s"}}, directory=tmp_path / "state")
    (tmp_path / "state").rmdir()
    bench.go(30, each=lambda: wait_for_save(bench))
    assert bench.sample("hostpulse_detector_save_errors_total") >= 3
    assert bench.notebook.ends_s() == list(range(3, 30))
    assert sum("cannot be saved" in record.message for record in caplog.records) == 1


def wait_for_save(bench: Bench) -> None:
    saves = [watch.saving for watch in bench.loop._watches.values() if watch.saving]
    wait_until(lambda: all(save.done() for save in saves), 60, "the save is done")


def test_closing_does_not_wait_for_a_fit(tmp_path: Path) -> None:
    let_go = threading.Event()

    def hanging_fit(state: HostState, judge: Judge) -> HostState:
        let_go.wait(60)
        return state

    bench = Bench(Judging(scoring_step, due_from(5).due, hanging_fit), directory=tmp_path)
    bench.go(20)
    begun_s = time.monotonic()
    bench.loop.close()
    assert time.monotonic() - begun_s < 30
    let_go.set()
    assert list(tmp_path.glob("*.npz"))
    assert bench.source.closed


def test_other_settings_of_the_source_keep_the_model() -> None:
    bench = Bench(due_from(10))
    bench.go(20, each=lambda: wait_for_fit(bench))
    old, bench.source = bench.source, MadeSource(bench.clock, HOST)
    bench.loop.reconfigure(settings(log={"level": "debug"}), bench.source, None)
    bench.go(10)
    assert old.closed
    assert bench.notebook.ends_s() == list(range(3, 30))
    assert bench.notebook.judged[-1].verdict.phase is Phase.PROVISIONAL


def test_other_windows_start_the_model_anew() -> None:
    bench = Bench(due_from(10))
    bench.go(20, each=lambda: wait_for_fit(bench))
    bench.source = MadeSource(bench.clock, HOST)
    bench.loop.reconfigure(settings(window={"duration": "6s"}), bench.source, None)
    bench.go(2)
    wide = [judged.verdict for judged in bench.notebook.judged if judged.window_s == 6]
    assert (wide[0].end_s - START_S > 20, wide[0].phase) == (True, Phase.LEARNING)


def test_loop_is_ready_once_a_host_is_judged() -> None:
    bench = Bench()
    assert bench.loop.unready() == "the source knows no host"
    bench.go(1)
    assert bench.loop.unready() == "no window has been judged yet"
    bench.go(5)
    assert bench.loop.unready() == ""
    bench.source.down = "connection refused"
    bench.go(5)
    assert bench.loop.unready() == "connection refused"


def test_round_is_left_when_the_clock_says_stop() -> None:
    bench = Bench(hosts=(HOST, OTHER))
    bench.source.began_s = START_S - 400

    def step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
        bench.clock.stopped = True
        return scoring_step(frame, state, end_s, judge)

    bench.judging = Judging(step, never_due, counting_fit)
    bench.new_loop().run()
    assert len(bench.notebook.judged) == 1


def test_loop_ends_when_the_clock_says_stop() -> None:
    bench = Bench()
    bench.clock.stopped = True
    bench.loop.run()
    assert bench.notebook.judged == []
