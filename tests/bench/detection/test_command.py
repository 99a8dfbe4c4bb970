from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.detection.__main__ import main
from tests.bench.detection.made import machine_arrays, write_runs

_POINTS = {"f1", "ap", "roc", "vus_pr"}
_ALARMS = {
    "event_recall", "episode_precision", "fpr", "alarms_per_day", "false_episodes_per_day", "delay_s",
    "chance_hit_rate",
}  # fmt: skip


def _write(data: Path) -> None:
    (data / "smd").mkdir(parents=True)
    for number in range(2):
        arrays = machine_arrays(38, 300, 200, [(60, 80), (150 + number, 165)], moved=20 + number)
        np.savez(data / "smd" / f"machine-{number}.npz", **arrays)
    write_runs(data / "hpas", lost=True)


def test_one_line_of_json_has_all_figures_of_the_sets_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "data")
    arguments = [f"--data={tmp_path / 'data'}", "--jobs=2", "--each", f"--dump={tmp_path / 'dump'}", "--json"]
    assert main(arguments) == 0
    text, _, line = capsys.readouterr().out.strip().rpartition("\n")
    figures = json.loads(line)
    assert set(figures) == {"smd", "hpas"}
    for name in ("asd", "jumpstarter"):
        assert f"{name}: skipped" in text
    assert set(figures["smd"]) == {
        "fused", "deviation", "subspace", "forest", "random", "live", "hr100", "hr150", "rc3", "subsystem_at_1",
        "refits", "rebaselines",
    }  # fmt: skip
    assert set(figures["smd"]["fused"]) == set(figures["smd"]["random"]) == _POINTS | _ALARMS
    assert figures["smd"]["fused"]["ap"] > 0.7 > 0.3 > figures["smd"]["random"]["ap"]
    assert figures["smd"]["fused"]["event_recall"] == 1.0
    assert figures["smd"]["hr100"] == 1.0
    assert figures["smd"]["subsystem_at_1"] == 1.0
    assert set(figures["hpas"]["fused"]) == {"paired_roc"} | _ALARMS
    assert figures["hpas"]["fused"]["paired_roc"] > 0.9
    assert 0.4 < figures["hpas"]["position"]["paired_roc"] < 0.6
    assert figures["hpas"]["runs_without_file"] == 1
    assert figures["hpas"]["touching_episodes"] >= 1
    assert sorted(path.name for path in (tmp_path / "dump" / "smd").iterdir()) == ["machine-0.npz", "machine-1.npz"]
    with np.load(tmp_path / "dump" / "smd" / "machine-0.npz") as dumped:
        assert dumped["test/fused"].shape == dumped["label"].shape == (200,)
        assert dumped["train/subspace"].shape == (300,)


def test_windows_may_be_other_ones_and_how_long_they_came_to_be_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path)
    assert main([f"--data={tmp_path}", "--jobs=1", "--quick", "--windows=adaptive", "--strides=2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.strip().rpartition("\n")[2])
    assert 1.0 <= figures["smd"]["times"] <= 4.0
    assert 1.0 <= figures["hpas"]["times"] <= 4.0
    assert figures["smd"]["fused"]["ap"] > 2 * figures["smd"]["random"]["ap"]
    assert figures["hpas"]["fused"]["paired_roc"] > 0.75, "smoothed scores lag behind so short a fault"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--data=/nowhere"], "--data: /nowhere is not a folder"),
        (["--strides=4", "--data=/"], "--strides: must be 1 to as many samples as a window has, not 4"),
    ],
)
def test_wrong_argument_is_named_and_ends_with_two(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("--sets=smd,mars", "--sets: 'mars' is not allowed; allowed: smd, asd, jumpstarter, hpas"),
        ("--windows=slow", "--windows: 'slow' is not allowed; allowed: 0.5 to 10, or adaptive"),
        ("--windows=11", "--windows: '11' is not allowed; allowed: 0.5 to 10, or adaptive"),
    ],
)
def test_argument_that_is_not_allowed_is_named(
    argument: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([argument])
    assert complaint in capsys.readouterr().err


def test_file_that_cannot_be_used_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "asd").mkdir()
    (tmp_path / "asd" / "odd.npz").write_text("hello")
    assert main([f"--data={tmp_path}", "--sets=asd", "--jobs=1"]) == 2
    assert "odd.npz: cannot be read" in capsys.readouterr().err
