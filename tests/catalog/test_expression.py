"""Expressions match labels as PromQL does, and render as what they evaluate."""

from __future__ import annotations

import numpy as np
import pytest

from catalog.expression import (
    Expression,
    Vector,
    at_least,
    largest,
    level,
    mean,
    minus,
    plus,
    rate,
    ratio,
    slope,
    spread,
    total,
)
from catalog.family import Family, Kind, Subsystem, Unit
from catalog.series import Series
from detector.channels import FrameOperands
from detector.frame import Frame


def _family(name: str, labels: tuple[str, ...], kind: Kind = Kind.GAUGE) -> Family:
    return Family(name, kind, Unit.COUNT, "A test.", Subsystem.CPU, labels, source="a test")


USED = _family("hostpulse_test_used", ("node", "device"))
SIZE = _family("hostpulse_test_size", ("device", "node"))
LIMIT = _family("hostpulse_test_limit", ("node",))
DONE = _family("hostpulse_test_done_total", ("cpu",), Kind.COUNTER)


def _evaluate(expression: Expression, last: dict[Series, float]) -> dict[str, float]:
    """The expression's last value by labels, on a frame of two rows a second apart; counters start at 0."""
    values = np.array([[0.0] * len(last), list(last.values())])
    gauges = [not series.name.endswith("_total") for series in last]
    values[0, gauges] = values[1, gauges]
    vector: Vector = expression.evaluate(FrameOperands(Frame("h", np.array([10.0, 11.0]), values, tuple(last))))
    return {",".join(value for _, value in labels): float(array[-1]) for labels, array in vector.items()}


def test_binary_operator_matches_equal_label_sets_in_any_order() -> None:
    data = {USED(0, "a"): 6.0, USED(1, "a"): 8.0, SIZE("a", 0): 2.0, SIZE("a", 1): 4.0}
    assert _evaluate(ratio(level(USED), level(SIZE)), data) == {"0,a": 3.0, "1,a": 2.0}


def test_binary_operator_leaves_out_label_sets_that_miss_on_either_side() -> None:
    data = {USED(0, "a"): 6.0, USED(1, "a"): 8.0, SIZE("a", 1): 4.0, SIZE("b", 1): 4.0}
    assert _evaluate(ratio(level(USED), level(SIZE)), data) == {"1,a": 2.0}


def test_ignored_labels_neither_match_nor_remain() -> None:
    data = {USED(0, "a"): 6.0, USED(1, "a"): 8.0, LIMIT(0): 2.0, LIMIT(1): 4.0}
    assert _evaluate(ratio(level(USED), level(LIMIT), "device"), data) == {"0": 3.0, "1": 2.0}


@pytest.mark.parametrize("sides", [(USED, LIMIT), (LIMIT, USED)])
def test_match_that_ignoring_makes_ambiguous_is_refused(sides: tuple[Family, Family]) -> None:
    data = {USED(0, "a"): 6.0, USED(0, "b"): 8.0, LIMIT(0): 2.0}
    with pytest.raises(AssertionError, match="label sets are the same"):
        _evaluate(ratio(level(sides[0]), level(sides[1]), "device"), data)


def test_aggregation_takes_away_its_labels_and_keeps_the_others() -> None:
    data = {USED(0, "a"): 2.0, USED(0, "b"): 8.0, USED(1, "a"): 3.0}
    assert _evaluate(total(level(USED), "device"), data) == {"0": 10.0, "1": 3.0}
    assert _evaluate(mean(level(USED), "device"), data) == {"0": 5.0, "1": 3.0}
    assert _evaluate(largest(level(USED), "device"), data) == {"0": 8.0, "1": 3.0}
    assert _evaluate(spread(level(USED), "device"), data) == {"0": 3.0, "1": 0.0}
    assert _evaluate(total(level(USED), "device", "node"), data) == {"": 13.0}


def test_aggregation_over_nothing_is_nothing() -> None:
    assert _evaluate(total(level(USED), "device"), {LIMIT(0): 1.0}) == {}


def test_match_reads_only_series_with_that_label() -> None:
    data = {USED(0, "a"): 2.0, USED(0, "b"): 8.0}
    assert _evaluate(level(USED, device="b"), data) == {"0,b": 8.0}


def test_clamp_raises_what_is_smaller() -> None:
    assert _evaluate(at_least(level(LIMIT), 3.0), {LIMIT(0): 2.0, LIMIT(1): 4.0}) == {"0": 3.0, "1": 4.0}


def test_sums_and_differences_compute() -> None:
    data = {LIMIT(0): 2.0, LIMIT(1): 4.0}
    assert _evaluate(plus(level(LIMIT), level(LIMIT)), data) == {"0": 4.0, "1": 8.0}
    assert _evaluate(minus(level(LIMIT), level(LIMIT)), data) == {"0": 0.0, "1": 0.0}


def test_counter_is_read_as_a_rate_and_a_gauge_as_its_slope() -> None:
    assert _evaluate(rate(DONE), {DONE(0): 5.0}) == {"0": 5.0}
    assert _evaluate(slope(LIMIT), {LIMIT(0): 5.0}) == {"0": 0.0}


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (lambda: rate(LIMIT), "rate needs a counter"),
        (lambda: level(DONE), "level needs a gauge"),
        (lambda: slope(DONE), "slope needs a gauge"),
        (lambda: level(LIMIT, device="a"), r"has labels \('node',\), not \['device'\]"),
    ],
)
def test_reading_a_family_as_what_it_is_not_is_refused(read: object, complaint: str) -> None:
    assert callable(read)
    with pytest.raises(AssertionError, match=complaint):
        read()


@pytest.mark.parametrize(
    ("expression", "promql"),
    [
        (rate(DONE, cpu="0"), 'rate(hostpulse_test_done_total{cpu="0",instance="h"}[5s])'),
        (slope(LIMIT), 'deriv(hostpulse_test_limit{instance="h"}[5s])'),
        (mean(level(USED), "device"), 'avg without (device) (hostpulse_test_used{instance="h"})'),
        (at_least(level(LIMIT), 1234567.0), 'clamp_min(hostpulse_test_limit{instance="h"}, 1234567)'),
        (at_least(level(LIMIT), 1 / 3), 'clamp_min(hostpulse_test_limit{instance="h"}, 0.3333333333333333)'),
        (
            ratio(level(USED), level(LIMIT), "device"),
            '(hostpulse_test_used{instance="h"} / ignoring (device) hostpulse_test_limit{instance="h"})',
        ),
    ],
)
def test_promql_says_the_same(expression: Expression, promql: str) -> None:
    assert expression.promql("5s", 'instance="h"') == promql


def test_promql_without_a_selector_has_no_empty_braces() -> None:
    assert level(LIMIT).promql("5s", "") == "hostpulse_test_limit"


def test_expression_names_all_the_families_it_reads() -> None:
    expression = ratio(total(rate(DONE), "cpu"), at_least(plus(level(LIMIT), level(USED)), 1.0))
    assert expression.families() == {DONE.name, LIMIT.name, USED.name}


def test_promql_of_means_averages_levels_too() -> None:
    expression = ratio(at_least(total(rate(DONE), "cpu"), 1.0), level(LIMIT))
    done = "clamp_min(sum without (cpu) (rate(hostpulse_test_done_total[5s])), 1)"
    means = f"({done} / avg_over_time(hostpulse_test_limit[5s]))"
    assert expression.promql("5s", "", averaged=True) == means
