"""Lengths of time that follow from how a host is judged."""

from __future__ import annotations

import pytest

from detector.judge import Judge


@pytest.mark.parametrize(
    ("stride_s", "period_s"),
    [
        pytest.param(1.0, 60.0, id="a minute"),
        pytest.param(12.0, 60.0, id="five strides are a minute"),
        pytest.param(15.0, 75.0, id="five strides are longer"),
        pytest.param(300.0, 1500.0, id="samples of five minutes"),
    ],
)
def test_largest_statistic_is_that_of_as_long_as_an_alarm_takes(stride_s: float, period_s: float) -> None:
    assert Judge(window_s=3 * stride_s, stride_s=stride_s).maxima_period_s == period_s


@pytest.mark.parametrize(("stride_s", "most"), [(1.0, 288.0), (15.0, 115.2), (300.0, 5.76)])
def test_budget_is_cut_where_the_tail_of_the_largest_statistics_begins(stride_s: float, most: float) -> None:
    judge = Judge(window_s=3 * stride_s, stride_s=stride_s)
    assert judge.most_per_day(peers=False) == pytest.approx(most)
    assert judge.most_per_day(peers=True) == pytest.approx(most * judge.rules(peers=True) / judge.rules(peers=False))


def test_a_week_of_largest_statistics_is_kept_and_never_too_few_to_set_a_bound_on() -> None:
    assert Judge().maxima_kept == 7 * 24 * 60
    assert Judge(window_s=45.0, stride_s=15.0).maxima_kept == 7 * 24 * 3600 / 75
    assert Judge(window_s=900.0, stride_s=300.0).maxima_kept == 1000
