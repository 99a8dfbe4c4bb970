from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import latency
from bench.detection.replay import learned
from bench.quiet.host import PROFILES, START_S, Recorder, SimulatedHost
from bench.quiet.series import lines
from catalog import outputs
from detector.features import Features
from detector.pipeline import features_at
from detector.settings import TABLE
from detector.watch import judge_for

_JUDGE = judge_for(TABLE(), 1.0)


def _windows(count: int) -> Features:
    host = SimulatedHost(lines(), PROFILES[2], 0, 1.0, 1.0)
    frame = Recorder("simulated", lines(), 1.0).frame(host.next(count + 60))
    return features_at(frame, START_S + 60.0 + np.arange(1.0, count + 1), _JUDGE)


def test_chosen_features_are_as_many_as_wanted_and_from_everywhere() -> None:
    windows = _windows(20)
    some = latency.chosen(windows, slice(5, 15), 12)
    assert some.x.shape == (10, 12)
    assert (some.features[0], some.features[-1]) == (windows.features[0], windows.features[-1])
    place = {name: column for column, name in enumerate(windows.names)}
    assert np.array_equal(some.x, windows.x[5:15, [place[name] for name in some.names]], equal_nan=True)


def test_both_forests_score_alike_and_are_timed() -> None:
    windows = _windows(260)
    state = learned(latency.chosen(windows, slice(0, 200), 60), _JUDGE)
    theirs_ms, ours_ms = latency.forest_row_ms(state, latency.chosen(windows, slice(200, None), 60).x)
    assert min(theirs_ms, ours_ms) > 0


def test_saved_host_counts_with_all_that_is_remembered(tmp_path: Path) -> None:
    judge_by = replace(_JUDGE, stride_s=1.0)
    few, many = (latency.state_kb(_windows(rows), judge_by, tmp_path / str(rows)) for rows in (100, 300))
    assert 50 < few < many


def test_window_without_a_score_is_not_yet_told() -> None:
    labels = 'instance="a:1",job="b"'
    end = f"{outputs.WINDOW_END.name}{{{labels}}} 1.8000000015e+09\n"
    score = f'{outputs.SCORE.name}{{detector="fused",{labels}}} 0.5\n'
    other = f'{outputs.SCORE.name}{{detector="forest",{labels}}} 0.5\n'
    assert latency.scored_end_s(score + end) == pytest.approx(1_800_000_001.5)
    assert latency.scored_end_s(other + end) == 0.0
    assert latency.scored_end_s(score) == 0.0


def test_more_windows_than_the_exporter_keeps_samples_of_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        latency.main(["--windows=241"])
    assert "--windows: '241' is not allowed; allowed: 1 to 240" in capsys.readouterr().err
