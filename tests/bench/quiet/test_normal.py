from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import psutil
import pytest

from bench.quiet import normal
from bench.quiet.figures import upper_bound
from detector.recording import open_recording
from detector.replay import Findings, Found, ReplayError
from detector.settings import Settings


def test_each_load_has_one_turn_in_a_round_and_the_last_one_ends_in_time() -> None:
    planned = list(normal.turns(10.5 * normal.TURN_S, seed=3))
    assert sum(lasts_s for _, lasts_s in planned) == 10.5 * normal.TURN_S
    for first in (0, 4):
        assert Counter(load for load, _ in planned[first : first + 4]) == Counter(normal.LOADS)
    assert list(normal.turns(10.5 * normal.TURN_S, seed=4)) != planned


def test_loads_run_while_the_exporter_records_and_nothing_of_them_stays(tmp_path: Path) -> None:
    before = psutil.Process().children(recursive=True)
    normal.record(tmp_path / "recording", seconds=6.0, seed=1, turn_s=1.5)
    recording = open_recording(tmp_path / "recording")
    assert recording.interval_s == pytest.approx(0.1)
    assert recording.span_s[1] - recording.span_s[0] > 3.0
    assert psutil.Process().children(recursive=True) == before
    with pytest.raises(ReplayError, match=r"baseline.duration"):
        normal.judge(tmp_path / "recording", Settings())


def test_figures_bound_the_rate_by_the_hours_that_were_judged() -> None:
    found = Findings("node7", (0.0, 7800.0), 2.0, 0.5, windows=15_600, judged=14_400)
    found.episodes = [Found(100.0, "cpu", (), page=True), Found(3000.0, "memory", ())]
    assert normal.figures(found) == {
        "hours": 2.0,
        "warnings": 2,
        "warning_per_day": 24.0,
        "warning_upper_95": upper_bound(2, 1 / 12),
        "pages": 1,
        "page_upper_95": upper_bound(1, 1 / 12),
    }
    assert math.isnan(normal.figures(Findings("node7", (0.0, 1.0), 2.0, 0.5))["warning_per_day"])


@pytest.mark.parametrize("flags", [["--hours=0"], ["--hours=many"], ["--out=a", "--recording=b"]])
def test_flags_that_cannot_be_are_refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        normal.main(flags)
    assert flags[0].partition("=")[0] in capsys.readouterr().err


def test_folder_that_holds_something_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "of before").touch()
    for place in (tmp_path, tmp_path / "of before"):
        with pytest.raises(SystemExit):
            normal.main([f"--out={place}"])
        assert f"--out: {place} is not an empty folder" in capsys.readouterr().err
