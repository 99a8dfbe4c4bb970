"""What telemetry does that is no fault of the host: gaps, resets, clocks, devices that come and go."""

from __future__ import annotations

import numpy as np
import pytest

from catalog.families import cpu, network, storage
from catalog.family import Family
from catalog.series import Series
from detector.frame import Floats, Frame
from tests.detector.synthetic import INSTANCE, START_S, changed, fault_of, synthetic_frame, without
from tests.detector.watching import JUDGE, Watched, scores, watch

AFTER_S = JUDGE.baseline_s + JUDGE.window_s


def _watch(frame: Frame, learned: Watched) -> Watched:
    return watch(frame, state=learned.state, after_s=AFTER_S, fits=False)


def _is_of(series: Series, *families: Family) -> bool:
    return series.name in {family.name for family in families}


@pytest.mark.parametrize("down_s", [0.3, 2.0, 10.0, 600.0])
def test_exporter_that_was_down_is_no_anomaly(learned: Watched, down_s: float) -> None:
    frame = without(synthetic_frame(300.0 + down_s), 260.0, 260.0 + down_s)
    watched = _watch(frame, learned)
    assert watched.openings_s == []
    assert len(watched.between(0.0, 1e4)) == len(watched.verdicts) == 57 + int(down_s)
    empty = watched.between(260.0 + JUDGE.window_s, 260.0 + down_s)
    assert all(np.isnan(verdict.score) and verdict.coverage == 0.0 for verdict in empty)
    assert np.nanmax(scores(watched)) < 1.5


@pytest.mark.parametrize(("down_s", "every_s"), [(1.0, 4), (2.0, 5), (2.0, 6)])
def test_exporter_that_comes_and_goes_is_no_anomaly(learned: Watched, down_s: float, every_s: int) -> None:
    frame = synthetic_frame(320.0)
    for start_s in range(260, 320, every_s):
        frame = without(frame, start_s, start_s + down_s)
    watched = _watch(frame, learned)
    assert watched.openings_s == []
    assert np.mean(scores(watched) > 1.0) < 0.05


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("by", ["value", "row", "column"])
def test_whatever_is_missing_the_verdict_is_sound(learned: Watched, share: float, by: str) -> None:
    frame = synthetic_frame(280.0)
    shape = {"value": frame.values.shape, "row": (len(frame.values), 1), "column": (1, frame.values.shape[1])}[by]
    lost = np.random.default_rng(len(by)).random(shape) < share
    values = np.where(lost & (frame.times_s[:, None] > START_S + 250.0), np.nan, frame.values)
    watched = _watch(Frame(INSTANCE, frame.times_s, values, frame.columns), learned)
    # Rates over twice the time are steadier: a host that loses half of its samples does look different.
    assert watched.openings_s == [] or (share, by) in {(0.5, "value"), (0.5, "row")}
    for verdict in watched.verdicts:
        assert np.isnan(verdict.score) or 0.0 <= verdict.score <= 10.0
        assert np.isnan(verdict.score) == (verdict.coverage == 0.0)
        assert not verdict.shares or np.isclose(sum(verdict.shares.values()), 1.0)
        assert all(np.isfinite([cause.typical, cause.actual, cause.deviation]).all() for cause in verdict.causes)


def test_gap_does_not_stop_learning(learned: Watched) -> None:
    watched = _watch(without(synthetic_frame(360.0), 260.0, 300.0), learned)
    ends_s, _, _ = watched.state.training.table()
    assert ends_s.max() > START_S + 340.0
    assert watched.state.training.rows > learned.state.training.rows + 40
    assert not np.any((ends_s > START_S + 260.0 + JUDGE.window_s) & (ends_s < START_S + 300.0))


def test_gap_counts_as_quiet_votes_and_the_episode_ends_by_its_rule(learned: Watched) -> None:
    frame = without(synthetic_frame(400.0, fault_of("memory", 260.0, 400.0)), 290.0, 330.0)
    watched = _watch(frame, learned)
    assert [verdict.active for verdict in watched.between(292.0, 297.0)] == [True] * 5
    assert not any(verdict.active for verdict in watched.between(305.0, 330.0))
    assert {verdict.onset_s for verdict in watched.verdicts if verdict.active} == {
        watched.between(280.0, 281.0)[0].onset_s
    }
    assert watched.between(345.0, 346.0)[0].active


def test_one_lost_window_does_not_make_an_alarm_flap(learned: Watched) -> None:
    frame = without(synthetic_frame(300.0, fault_of("memory", 260.0, 300.0)), 280.0, 284.0)
    watched = _watch(frame, learned)
    assert np.isnan(watched.between(283.0, 284.0)[0].score)
    assert len(watched.openings_s) == 1
    assert all(verdict.active for verdict in watched.between(270.0, 300.0))


@pytest.mark.parametrize("votes", [4, 5])
def test_lost_windows_after_loud_ones_are_quiet_votes(learned: Watched, votes: int) -> None:
    # The first window with a sample of the fault ends when it begins, the last less than a window after the loss.
    frame = without(synthetic_frame(290.0, fault_of("memory", 260.0, 275.0)), 256.9 + votes, 280.0)
    watched = _watch(frame, learned)
    loud = [verdict.end_s for verdict in watched.verdicts if verdict.score > 1.0]
    assert len(loud) == votes
    assert (watched.openings_s != []) == (votes >= 5)


def test_counters_that_start_over_are_no_anomaly(learned: Watched) -> None:
    def reset(series: Series, values: Floats) -> Floats:
        return values - values[0] if series.name.endswith("_total") else values

    watched = _watch(changed(synthetic_frame(300.0), 270.0, reset), learned)
    assert watched.openings_s == []
    assert np.max(scores(watched)) < 2.0


def test_iowait_that_runs_backwards_is_no_anomaly(learned: Watched) -> None:
    def jitter(series: Series, values: Floats) -> Floats:
        back = np.where(np.arange(len(values)) % 7 == 0, 0.02, 0.0)
        return values - back if series == cpu.SECONDS(0, "iowait") else values

    frame = changed(synthetic_frame(300.0), 260.0, jitter)
    assert (np.diff(frame.values[:, frame.columns.index(cpu.SECONDS(0, "iowait"))]) < 0).sum() > 20
    watched = _watch(frame, learned)
    assert watched.openings_s == []


def test_clock_that_is_set_forward_is_no_anomaly(learned: Watched) -> None:
    frame = synthetic_frame(300.0)
    stepped = np.where(frame.times_s > START_S + 270.0, frame.times_s + 2.0, frame.times_s)
    watched = _watch(Frame(frame.instance, stepped, frame.values, frame.columns), learned)
    assert watched.openings_s == []
    assert len(watched.verdicts) == 59


def test_series_without_any_sample_are_learned_around() -> None:
    frame = synthetic_frame(AFTER_S + 40.0, fault_of("storage", AFTER_S + 10.0, AFTER_S + 40.0))
    silent = changed(frame, -1.0, lambda s, values: np.full_like(values, np.nan) if _is_of(s, cpu.SOFTIRQS) else values)
    watched = watch(silent)
    assert watched.state.fits == 1
    assert [AFTER_S + 10 < opening_s <= AFTER_S + 20 for opening_s in watched.openings_s] == [True]
    assert watched.verdicts[-1].subsystem == "storage"


@pytest.mark.parametrize("stays_as_gaps", [True, False])
def test_device_that_disappears_is_no_anomaly_and_does_not_blind(learned: Watched, stays_as_gaps: bool) -> None:
    frame = synthetic_frame(330.0, fault_of("memory", 290.0, 330.0))
    gone = {series for series in frame.columns if dict(series.labels).get("device") == "vda"}
    if stays_as_gaps:
        frame = changed(frame, 260.0, lambda s, values: np.full_like(values, np.nan) if s in gone else values)
    else:
        kept = [column for column, series in enumerate(frame.columns) if series not in gone]
        frame = Frame(INSTANCE, frame.times_s, frame.values[:, kept], tuple(frame.columns[column] for column in kept))
    watched = _watch(frame, learned)
    assert [290.0 < opening_s <= 300.0 for opening_s in watched.openings_s] == [True]
    assert watched.verdicts[-1].subsystem == "memory"
    assert 0.3 < watched.verdicts[-1].coverage < 1.0


def test_device_that_appears_is_learned_with_the_next_model(learned: Watched) -> None:
    frame = synthetic_frame(520.0)
    traffic = np.cumsum(np.random.default_rng(1).uniform(0.0, 1e5, len(frame.times_s)))
    traffic[frame.times_s < START_S + 270.0] = np.nan
    values = np.concatenate([frame.values, traffic[:, None]], axis=1)
    before = watch(synthetic_frame(265.0), state=learned.state, after_s=AFTER_S, fits=False)
    wider = Frame(INSTANCE, frame.times_s, values, (*frame.columns, network.RECEIVE_BYTES("eth1")))
    watched = watch(wider, state=before.state, after_s=265.0)
    assert watched.openings_s == []
    assert watched.state.model is not None
    assert any("eth1" in name for name in watched.state.model.names)
    assert not any("eth1" in str(feature) for feature in before.state.features)


def test_device_that_is_renamed_is_not_taken_for_the_old_one(learned: Watched) -> None:
    frame = synthetic_frame(330.0)
    renamed = tuple(
        Series(series.name, (("device", "vdb"),)) if dict(series.labels).get("device") == "vda" else series
        for series in frame.columns
    )
    assert storage.READ_BYTES("vdb") in renamed
    before = watch(synthetic_frame(260.0), state=learned.state, after_s=AFTER_S, fits=False)
    watched = watch(
        Frame(INSTANCE, frame.times_s, frame.values, renamed), state=before.state, after_s=260.0, fits=False
    )
    assert watched.openings_s == []
    _, x, names = watched.state.training.table()
    old, new = x[:, names.index('storage_writes_per_second{device="vdb"}:mean')], watched.state.training.table()[0]
    assert np.isnan(old[new < START_S + 255.0]).all()
    assert not np.isnan(old[new > START_S + 265.0]).any()


def test_host_that_comes_back_after_a_reboot_is_no_anomaly(learned: Watched) -> None:
    frame = without(synthetic_frame(400.0), 260.0, 320.0)

    def reboot(series: Series, values: Floats) -> Floats:
        return values - values[0] if series.name.endswith("_total") else values

    watched = _watch(changed(frame, 320.0, reboot), learned)
    assert watched.openings_s == []
    assert np.isfinite(watched.verdicts[-1].score)
