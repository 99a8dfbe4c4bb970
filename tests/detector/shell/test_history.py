"""Learning from the past that a store holds: from aligned times on, none skipped, and equal for two detectors."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detector.clock import SystemClock
from detector.loop import Loop
from detector.service import build_source
from detector.settings import TABLE, Settings
from detector.telemetry import Telemetry
from detector.trainer import Judging
from tests.detector.shell.stepped import HOST, SCORING, START_S, Bench, MadeSource, Notebook, counting_fit, scoring_step
from tests.detector.synthetic import START_S as SYNTHETIC_S
from tests.detector.synthetic import synthetic_frame
from tests.dumps import as_openmetrics, make_blocks
from tests.servers import Prometheus, start_prometheus

HISTORY: dict[str, Any] = {"baseline": {"duration": "60s", "history": "1h"}}
INTERVAL_S = 15.0
PAST_S, AHEAD_S = 3600.0, 300.0


def bench(after_s: float = 0.0, began_s: float = -20_000.0, **more: Any) -> Bench:
    made = Bench(sections=HISTORY, **more)
    made.source.began_s = START_S + began_s
    made.clock.now_s = after_s
    return made


def caught_up(made: Bench) -> list[float]:
    made.go(20.0)
    ends_s = made.notebook.ends_s()
    assert ends_s[-1] >= made.clock.now_s - 3.0, "it has come to the present"
    return ends_s


@pytest.mark.parametrize("after_s", [0.0, 400.0, 890.0])
def test_history_begins_at_an_aligned_time_and_none_of_it_is_skipped(after_s: float) -> None:
    made = bench(after_s)
    ends_s = caught_up(made)
    assert ends_s[0] == -3600.0
    assert ends_s == [ends_s[0] + number for number in range(len(ends_s))]
    assert made.sample("hostpulse_detector_windows_skipped_total") == 0


def test_history_is_as_long_as_the_source_has_it() -> None:
    assert caught_up(bench(began_s=-500.0))[0] == pytest.approx(-497.0, abs=1.0)
    assert caught_up(bench(began_s=-50.0))[0] >= 0.0, "too short for a baseline"


def test_outage_after_a_history_is_skipped_as_ever() -> None:
    made = bench()
    caught_up(made)
    made.source.down = "gone"
    made.go(1000.0)
    made.source.down = ""
    made.go(20.0)
    assert made.sample("hostpulse_detector_windows_skipped_total") > 700


def test_settings_that_are_taken_over_meanwhile_cost_nothing_of_the_history() -> None:
    made = bench()
    made.go(0.01)
    assert 0 < len(made.notebook.judged) < 1000
    began_s, made.source = made.source.began_s, MadeSource(made.clock, HOST)
    made.source.began_s = began_s
    made.loop.reconfigure(made.settings, made.source, None)
    ends_s = caught_up(made)
    assert ends_s == [-3600.0 + number for number in range(len(ends_s))]
    assert made.sample("hostpulse_detector_windows_skipped_total") == 0


def test_host_with_a_saved_model_has_no_need_of_history(tmp_path: Path) -> None:
    due_once = Judging(scoring_step, lambda state, end_s, judge: not state.fits, counting_fit)
    made = bench(directory=tmp_path, judging=due_once)
    caught_up(made)
    made.loop.close()
    last_s = made.notebook.ends_s()[-1]
    made.judging, made.notebook = SCORING, Notebook()
    made.new_loop()
    made.go(5.0)
    assert made.notebook.ends_s()[0] >= last_s
    assert HOST in made.loop.hosts


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that holds an hour of a host that is scraped every 15 s, and the next minutes already."""
    folder = tmp_path_factory.mktemp("prometheus")
    frame = synthetic_frame(PAST_S + AHEAD_S, interval_s=INTERVAL_S)
    begin_s = math.floor(time.time() / INTERVAL_S) * INTERVAL_S - PAST_S
    moved = replace(frame, times_s=frame.times_s - SYNTHETIC_S + begin_s)
    make_blocks(as_openmetrics([moved], folder / "host.om"), folder / "data")
    with start_prometheus(folder) as server:
        yield server


def scores(settings: Settings) -> dict[float, float]:
    """What a detector that begins now says of the past and, once it has come there, of the present."""
    clock, notebook = SystemClock(), Notebook()
    loop = Loop(settings, build_source(settings, clock), [notebook], None, Telemetry(), clock)
    deadline_s = time.monotonic() + 90.0
    while not notebook.judged or notebook.judged[-1].verdict.end_s < clock.wall_s() - 2 * INTERVAL_S:
        assert time.monotonic() < deadline_s, loop.unready()
        clock.wait(loop.pause_s())
        loop.round()
    loop.close()
    return {one.verdict.end_s: one.verdict.score for one in notebook.judged if not math.isnan(one.verdict.score)}


def test_two_detectors_over_one_store_reach_equal_scores(prometheus: Prometheus) -> None:
    given = {
        "baseline": {"duration": "15m", "history": "50m"},
        "source": {"prometheus": {"url": prometheus.url, "timeout": "20s"}},
    }
    first, second = (scores(TABLE.model_validate(given)) for _ in range(2))
    both = first.keys() & second.keys()
    assert len(both) > 60
    assert {end_s: first[end_s] for end_s in both} == {end_s: second[end_s] for end_s in both}
