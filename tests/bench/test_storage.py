from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import storage


def test_figures_of_a_block_are_those_of_its_files(tmp_path: Path) -> None:
    stats = {"numSamples": 6_020, "numSeries": 20, "numChunks": 60}
    (tmp_path / "meta.json").write_text(json.dumps({"minTime": 1_000, "maxTime": 301_000, "stats": stats}))
    (tmp_path / "chunks").mkdir()
    (tmp_path / "chunks" / "000001").write_bytes(bytes(9_000))
    (tmp_path / "chunks" / "000002").write_bytes(bytes(3_040))
    (tmp_path / "index").write_bytes(bytes(777))
    assert storage.Block(tmp_path).figures() == {
        "series": 20,
        "samples_per_s": 20.0,  # the first sample of each series begins the time, the others take it
        "bytes_per_sample": 2.0,
        "bytes_per_s": 40.0,
        "index_bytes": 777,
    }


def test_short_run_ends_with_one_line_of_plausible_figures(capsys: pytest.CaptureFixture[str]) -> None:
    storage.main(["--seconds=3", "--baseline=30", "--stride=200ms", "--json"])
    table, _, line = capsys.readouterr().out.strip().rpartition("\n")
    figures = json.loads(line)
    assert list(figures) == ["seconds", "all_1s", "kept_1s", "all_100ms", "kept_100ms"]
    assert "42 to 43 kB/s" in table
    for interval in storage.INTERVALS:
        everything, kept = figures[f"all_{interval}"], figures[f"kept_{interval}"]
        assert 100 < kept["series"] < everything["series"]
        for row in (everything, kept):
            assert min(row.values()) > 0
            assert row["bytes_per_s"] == pytest.approx(row["bytes_per_sample"] * row["samples_per_s"], rel=0.01)


def test_longer_than_one_block_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        storage.main(["--seconds=7201"])
    assert "--seconds: '7201' is not allowed; allowed: 1 to 7200" in capsys.readouterr().err
