"""What adaptive sampling saves and how soon it notices is measured live."""

from __future__ import annotations

import json

import pytest

from bench import adaptive


def test_time_in_which_rows_are_close_is_told_as_a_share() -> None:
    assert adaptive.often([0.0, 0.1, 0.2, 0.8]) == 0.25
    assert adaptive.often([0.0, 0.6, 1.2]) == 0.0
    assert adaptive.often([0.0]) is None


def test_disturbance_is_noticed_by_the_row_after_which_rows_are_close() -> None:
    times_s = [0.0, 0.1, 0.7, 1.3, 1.4, 1.5]
    assert adaptive.noticed_s(times_s, 1.0) == pytest.approx(0.3)
    assert adaptive.noticed_s(times_s[:4], 1.0) is None


def test_all_figures_are_measured_and_end_as_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "_LEARNING_S", 0.0)
    adaptive.main(["--seconds=2", "--rounds=1", "--disturbances=0", "--json"])
    table, _, line = capsys.readouterr().out.strip().rpartition("\n")
    figures = json.loads(line)
    assert all(name in table for name in figures)
    assert all(figures[f"core_percent_{name}"] > 0 for name in ("100ms", "adaptive", "600ms"))
    assert 0 <= figures["unsettled_share"] <= 1
    assert (figures["disturbances"], figures["noticed_ms_max"]) == (0, None)
