"""Six statistics of each channel and window, and the scale on which they compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.signal import Scale
from detector import features as module
from detector.channels import Channels
from detector.features import FEW_SAMPLES, STATISTICS, Feature, extract, from_scale, to_scale
from detector.frame import Floats
from tests.detector import naive
from tests.detector.arrays import channel, features_of, tables, times_s
from tests.properties import PROPERTY

SCALES = st.sampled_from(list(Scale))


def _extract(values: Floats, window_s: float = 0.1, ends_s: Floats | None = None) -> module.Features:
    """Of one window that holds all rows, unless told otherwise."""
    times = times_s(len(values))
    if ends_s is None:
        ends_s, window_s = times[-1:], float(np.ptp(times)) + window_s
    channels = tuple(channel(f"c{number}") for number in range(values.shape[1]))
    return extract(Channels(times, values, channels), ends_s, window_s)


@PROPERTY
@given(tables(st.floats(-1e6, 1e6), rows=(1, 30)), st.floats(0.01, 3.0))
def test_statistics_are_those_of_the_naive_loop(values: Floats, more_s: float) -> None:
    found = _extract(values, more_s)
    times = times_s(len(values)) - times_s(len(values))[-1]
    window_s = float(np.ptp(times_s(len(values)))) + more_s
    for column in range(values.shape[1]):
        expected = naive.statistics(times, values[:, column], window_s)
        own = found.x[0, column :: values.shape[1]]
        assert np.array_equal(np.isnan(own), np.isnan(expected))
        scale = np.nanmax(np.abs(values[:, column]), initial=1.0)
        assert np.allclose(own, expected, rtol=1e-9, atol=1e-9 * scale, equal_nan=True)


def test_each_window_is_judged_on_its_own_samples() -> None:
    values = np.random.default_rng(1).standard_normal((200, 3))
    times = times_s(200)
    ends = times[[40, 90, 199]]
    found = _extract(values, 2.0, ends)
    for number, end_s in enumerate(ends):
        inside = (times > end_s - 2.0 + 1e-6) & (times <= end_s + 1e-6)
        expected = [naive.statistics(times[inside] - end_s, values[inside, c], 2.0) for c in range(3)]
        assert np.allclose(found.x[number].reshape(len(STATISTICS), 3).T, expected)


def test_chunks_of_windows_give_what_one_chunk_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).standard_normal((300, 4))
    ends = times_s(300)[30::7]
    whole = _extract(values, 2.0, ends).x
    monkeypatch.setattr(module, "_CHUNK_ELEMENTS", 100)
    assert np.array_equal(_extract(values, 2.0, ends).x, whole)


def test_few_samples_have_mean_and_change_only() -> None:
    values = np.arange(float(FEW_SAMPLES))[:, None]
    few, enough = _extract(values[1:]).x[0], _extract(values).x[0]
    assert [name for name, x in zip(STATISTICS, few, strict=True) if not np.isnan(x)] == ["mean", "change"]
    assert not np.isnan(enough).any()


def test_samples_that_cover_too_little_of_a_window_have_a_mean_only() -> None:
    values = np.arange(30.0)[:, None]
    covers_s = float(np.ptp(times_s(30)))
    little, enough = _extract(values, 1.01 * covers_s).x[0], _extract(values, 0.99 * covers_s).x[0]
    assert [name for name, x in zip(STATISTICS, little, strict=True) if not np.isnan(x)] == ["mean"]
    assert not np.isnan(enough).any()


def test_single_sample_has_a_mean_and_no_change() -> None:
    x = _extract(np.array([[np.nan], [4.0], [np.nan]])).x[0]
    assert [name for name, value in zip(STATISTICS, x, strict=True) if not np.isnan(value)] == ["mean"]


def test_window_without_samples_is_missing_altogether() -> None:
    found = _extract(np.ones((20, 2)), 1.0, times_s(20)[-1:] + 60.0)
    assert found.x.shape == (1, 2 * len(STATISTICS))
    assert np.isnan(found.x).all()


def test_no_channels_and_no_windows_give_empty_tables() -> None:
    assert _extract(np.ones((20, 0))).x.shape == (1, 0)
    assert _extract(np.ones((20, 2)), 1.0, np.empty(0)).x.shape == (0, 2 * len(STATISTICS))


def test_big_constant_level_has_no_slope() -> None:
    found = _extract(np.full((30, 1), 24e9))
    assert abs(found.x[0, STATISTICS.index("slope")]) < 1.0  # bytes per second


def test_names_lead_back_to_channel_and_statistic() -> None:
    names = _extract(np.ones((3, 2))).names
    assert names[:3] == ("c0:mean", "c1:mean", "c0:deviation")
    assert len(set(names)) == 2 * len(STATISTICS)


@PROPERTY
@given(tables(st.floats(-1e12, 1e12)), SCALES, st.floats(1e-3, 1e9))
def test_scale_and_back_gives_the_value_again(x: Floats, scale: Scale, floor: float) -> None:
    features = features_of([channel(f"c{n}", scale=scale, floor=floor) for n in range(x.shape[1])])
    scaled = to_scale(x, features)
    assert np.allclose(from_scale(scaled, features), x, rtol=1e-9, atol=1e-9 * floor, equal_nan=True)
    assert np.array_equal(np.isnan(scaled), np.isnan(x))


@PROPERTY
@given(SCALES, st.floats(1e-3, 1e9), st.floats(0, 1e12), st.floats(0, 1e12))
def test_scale_keeps_order_and_sign(scale: Scale, floor: float, a: float, b: float) -> None:
    features = features_of([channel(scale=scale, floor=floor)])
    low, high = to_scale(np.array([[min(a, b)], [max(a, b)]]), features)[:, 0]
    assert 0 <= low <= high
    assert to_scale(np.array([[-a]]), features)[0, 0] == -to_scale(np.array([[a]]), features)[0, 0]


@PROPERTY
@given(SCALES, tables(st.floats(-1e6, 1e6)), st.floats(1e-3, 1e3))
def test_unit_does_not_matter_when_the_floor_changes_with_it(scale: Scale, x: Floats, factor: float) -> None:
    before = features_of([channel(f"c{n}", scale=scale, floor=2.0) for n in range(x.shape[1])])
    after = features_of([channel(f"c{n}", scale=scale, floor=2.0 * factor) for n in range(x.shape[1])])
    assert np.allclose(to_scale(x, before), to_scale(x * factor, after), rtol=1e-9, atol=1e-12, equal_nan=True)


def test_features_refuse_shapes_that_do_not_fit_and_infinities() -> None:
    one = (Feature(channel(), "mean"),)
    with pytest.raises(AssertionError, match="does not fit"):
        module.Features(np.zeros(2), np.zeros((1, 1)), one)
    with pytest.raises(AssertionError, match="finite or NaN"):
        module.Features(np.zeros(1), np.full((1, 1), np.inf), one)
