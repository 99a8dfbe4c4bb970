from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.paper import __main__ as program
from bench.paper import anomalies, metrics
from bench.paper.bench import FULL, QUICK, Bench
from bench.paper.parts import PARTS
from bench.paper.recorded import DEFAULT, FINE, Past
from bench.paper.row import CannotMeasureError, Row, table
from bench.workloads.recorded import TOLD, Run, load
from bench.workloads.registry import WORKLOADS
from tests.detector.synthetic import START_S, fault_of, synthetic_frame
from tests.recordings import as_folder, segments_of

_RUN_S, _TURNS = 12.0, 5
_LOADS = {"perceptron": ("cpu",), "clusters": ("storage",), "forest_requests": ()}  # what the work does to the host
_FAULT_S = 139.0, 148.0  # in a run of the first


def _recorded(folder: Path, turns: int) -> Path:
    """Workloads in turns, recorded, and a network fault in the second half of five turns."""
    runs: list[Run] = []
    loads = list(fault_of("network", *_FAULT_S))
    for number in range(len(_LOADS) * turns):
        name = list(_LOADS)[number % len(_LOADS)]
        begun_s = 20.0 + (_RUN_S + 1.0) * number
        runs.append(Run(name, number // len(_LOADS), (START_S + begun_s, START_S + begun_s + _RUN_S), 1))
        for subsystem in _LOADS[name]:
            loads += fault_of(subsystem, begun_s, begun_s + _RUN_S)
    frame = synthetic_frame(22.0 + (_RUN_S + 1.0) * len(runs), loads)
    as_folder([segments_of(frame)], folder / "recording")
    about = json.loads((folder / "recording/recording.json").read_text())
    schemas = {tier: {"tier": tier, "interval_s": interval_s} for tier, interval_s in (("fast", 0.1), ("medium", 1.0))}
    (folder / "recording/recording.json").write_text(json.dumps(about | {"schemas": schemas}))
    (folder / TOLD).write_text(json.dumps({"runs": list(map(asdict, runs)), "lacking": {"gloo": "needs root"}}))
    return folder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """With runs that were recorded before."""
    place = tmp_path_factory.mktemp("paper")
    return Bench(place, QUICK, _recorded(tmp_path_factory.mktemp("runs"), _TURNS))


def _found(rows: list[Row]) -> dict[str, float]:
    return {row.key: row.ours for row in rows}


def test_fine_windows_are_shorter_and_there_are_more_of_them(bench: Bench) -> None:
    default, fine = (bench.past.judge(name) for name in (DEFAULT, FINE))
    assert (default.window_s, default.stride_s) == (3.0, 1.0)
    assert (fine.window_s, fine.stride_s) == (1.0, 0.5)
    assert len(bench.past.windows(fine).end_s) == pytest.approx(2 * len(bench.past.windows(default).end_s), abs=6)


def test_what_is_flagged_in_both_settings_is_more_than_chance(bench: Bench) -> None:
    found = _found(anomalies.agreed(bench))
    assert found["hit_rate_calibrated"] > found["hit_rate_calibrated_chance"]
    assert found["iou_calibrated"] > 2 * found["iou_calibrated_chance"]
    assert 0 <= found["iou_printed"] <= 1


def test_work_that_uses_other_parts_of_a_host_is_told_apart(bench: Bench) -> None:
    rows = anomalies.stable(bench)
    found = _found(rows)
    assert found["stable_percent"] > 15
    assert found["stable_percent"] > 3 * found["stable_percent_chance"]
    assert rows[-1].note == "gloo needs root"


def test_flagged_windows_are_led_by_the_subsystem_that_is_sick(bench: Bench) -> None:
    rows = anomalies.patterns(bench)
    assert rows[0].key == "flagged_percent_training"
    assert rows[0].ours > 0
    assert rows[0].note.startswith("network")


def test_kept_are_fewer_than_vary(bench: Bench) -> None:
    found = _found(metrics.kept(bench))
    assert 0 < found["kept_percent_features"] < 100
    assert 0 < found["kept_percent_signals"] < 100


def test_too_short_a_recording_cannot_be_judged(tmp_path: Path) -> None:
    past = Past(load(_recorded(tmp_path, 1)))
    with pytest.raises(CannotMeasureError, match="too few to learn from"):
        anomalies.judged(past, DEFAULT)


def test_part_that_cannot_run_says_why_and_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = _recorded(tmp_path, 1)
    program.main(["--quick", "--json", "--parts=agreement,stability,cases,kept", f"--runs={place}"])
    shown, _, line = capsys.readouterr().out.strip().rpartition("\n")
    told = json.loads(line)
    assert "too short to quote" in shown
    assert "cannot run here: " in shown
    assert list(told["not_measured"]) == ["agreement", "stability"]
    assert told["figures"]["agreement"] is None
    assert told["figures"]["case_1"] is None
    assert told["measured"] == sum(figure is not None for figure in told["figures"].values())


def test_part_that_there_is_not_is_told_what_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["--parts=stability,stable"])
    assert f"--parts: 'stable' is not allowed; allowed: {', '.join(PARTS)}" in capsys.readouterr().err


def test_table_shows_theirs_beside_ours_and_a_dash_for_none() -> None:
    rows = [Row("a", "a figure", "42 %", 1.5, "%"), Row("b", "another", "", math.nan, note="needs root")]
    assert table(rows).splitlines()[2:] == ["| a figure | 42 % | 1.5 % |  |", "| another | – | – | needs root |"]


def test_full_run_has_all_workloads_ten_times() -> None:
    assert (FULL.names, FULL.times) == (tuple(WORKLOADS), 10)


def test_what_failed_is_tried_anew_in_a_folder_of_its_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, QUICK)
    first, second = bench.new("runs"), bench.new("runs")
    assert first != second
    assert [list(place.iterdir()) for place in (first, second)] == [[], []]
