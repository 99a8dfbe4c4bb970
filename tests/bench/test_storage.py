from __future__ import annotations

import json

import pytest

from bench import storage


def test_short_run_ends_with_one_line_of_plausible_figures(capsys: pytest.CaptureFixture[str]) -> None:
    storage.main(["--seconds=6", "--baseline=30", "--json"])
    table, _, line = capsys.readouterr().out.strip().rpartition("\n")
    figures = json.loads(line)
    assert list(figures) == ["seconds", "all_1s", "kept_1s", "all_100ms", "kept_100ms"]
    assert "42 to 43 kB/s" in table
    for interval, rate in (("1s", 1), ("100ms", 10)):
        everything, kept = figures[f"all_{interval}"], figures[f"kept_{interval}"]
        assert 100 < kept["series"] < everything["series"]
        assert kept["bytes_per_s"] < everything["bytes_per_s"]
        assert everything["samples_per_s"] == pytest.approx(rate * everything["series"], rel=0.35)
        assert 0 < everything["bytes_per_sample"] < 16
