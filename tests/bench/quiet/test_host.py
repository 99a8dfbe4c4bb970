from __future__ import annotations

import numpy as np
import pytest

from bench.quiet.fault import PLANTED, SHIFTED, Planted
from bench.quiet.host import DAY_S, PROFILES, Recorder, Signals, SimulatedHost
from bench.quiet.series import lines
from catalog.family import Kind, Tier

_LINES = lines()
_TRAINING, _MIXED, _SERVING, _IDLE = PROFILES


def _column(name: str) -> int:
    return next(column for column, line in enumerate(_LINES) if str(line.series).startswith(name))


def _host(seed: int = 0, interval_s: float = 15.0, days: float = 1.0) -> SimulatedHost:
    return SimulatedHost(_LINES, _TRAINING, seed, interval_s, days)


def test_same_seed_gives_the_same_host_and_another_seed_another() -> None:
    one, same, other = (_host(seed).next(200).values for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_every_series_is_there_once_for_any_number_of_devices() -> None:
    for count in (len(lines()), len(lines(cpus=48, disks=8, interfaces=8, gpus=8))):
        assert count > 60
    series = [line.series for line in lines(cpus=5, disks=3, interfaces=2, gpus=3)]
    assert len(set(series)) == len(series)


def test_training_host_computes_and_saves_and_an_idle_one_does_not() -> None:
    rows = round(DAY_S / 15.0)
    power, written = _column("hostpulse_gpu_power"), _column("hostpulse_storage_written_bytes")
    busy, idle = (SimulatedHost(_LINES, profile, 1, 15.0, 1.0).next(rows).values for profile in (_TRAINING, _IDLE))
    assert 0.3 < (busy[:, power] > 250.0).mean() < 1.0
    assert 0.002 < (busy[:, written] > 5e7).mean() < 0.3
    assert (idle[:, power] < 100.0).all()


def test_short_programs_of_each_day_come_at_the_same_time() -> None:
    host = SimulatedHost(_LINES, _IDLE, 5, 15.0, 3.0)
    signals = [host.next(round(DAY_S / 15.0)) for _ in range(3)]
    sizes = np.stack([(each.values / (_rest(each) + 1e-9)).max(axis=1) for each in signals])
    common = sizes.min(axis=0)
    assert common.max() > 5 * np.median(common)


def _rest(signals: Signals) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.maximum(np.median(signals.values, axis=0), 1e-3)


def test_noise_is_as_large_as_it_says() -> None:
    signals = SimulatedHost(_LINES, _IDLE, 2, 15.0, 1.0).next(5000)
    column = _column("hostpulse_host_context_switches")
    measured = signals.values[:, column].std()
    assert measured == pytest.approx(float(np.median(signals.noise[:, column])), rel=0.25)


def test_counters_go_on_from_frame_to_frame_and_slow_tiers_keep_to_their_grid() -> None:
    host = _host(interval_s=0.1)
    recorder = Recorder("simulated", _LINES, 0.1)
    first, second = recorder.frame(host.next(60)), recorder.frame(host.next(60))
    values = np.concatenate([first.values, second.values])
    for column, line in enumerate(_LINES):
        known = values[~np.isnan(values[:, column]), column]
        assert line.family.tier is Tier.SLOW or len(known) >= 12
        assert line.family.kind is not Kind.COUNTER or (np.diff(known) >= 0).all()
    assert second.times_s[0] == pytest.approx(first.times_s[-1] + 0.1)
    power = values[:, _column("hostpulse_gpu_power")]
    assert np.isfinite(power).sum() == 12


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.kind}-{planted.subsystem}")
def test_fault_moves_several_series_and_only_a_shift_keeps_to_its_subsystem(planted: Planted) -> None:
    signals = SimulatedHost(_LINES, _SERVING, 0, 15.0, 1.0).next(40)
    added = planted.added(_LINES, signals, np.random.default_rng(0))
    moved = np.flatnonzero(added.any(axis=0))
    if planted.shift == 0.0:
        assert len(moved) == 0
        return
    assert 3 <= len(moved) <= 12
    if planted.shift is not None:
        assert len(moved) == SHIFTED
        assert {str(_LINES[column].family.subsystem) for column in moved} == {planted.subsystem}
        expected = planted.shift * np.median(signals.noise, axis=0)[moved]
        assert added[:, moved] == pytest.approx(np.broadcast_to(expected, (40, SHIFTED)))
