"""Signals as PromQL and on a frame, held against each other on a live Prometheus that scrapes this host."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from catalog import SIGNALS
from catalog.expression import Vector
from catalog.series import Labels
from detector.channels import FrameOperands, rates
from detector.frame import Floats, Frame
from tests.servers import Prometheus, scrape_job, start_exporter, start_prometheus

WINDOW = "20s"
SCRAPES = 25
_TARGET_LABELS = ("__name__", "instance", "job")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("signals")
    with start_exporter(folder) as exporter, start_prometheus(folder, [scrape_job("h", exporter.address)]) as server:
        server.await_result(f"sum(count_over_time(up[5m])) >= {SCRAPES}", limit_s=3.0 * SCRAPES)
        yield server


@pytest.fixture(scope="module")
def now_s(prometheus: Prometheus) -> float:
    """One moment for all questions, so that both sides are asked of the same samples."""
    assert prometheus.pid
    return time.time() - 1.0


class Answers(FrameOperands):
    """Operands whose leaves Prometheus itself has computed; what is done with them is ours."""

    def __init__(self, prometheus: Prometheus, now_s: float) -> None:
        super().__init__(Frame("none", np.array([now_s]), np.empty((1, 0)), ()))
        self._prometheus, self._now_s = prometheus, now_s

    def _read(self, how: str, family: str, match: Mapping[str, str]) -> Vector:
        selector = family + "{" + ",".join(f'{label}="{value}"' for label, value in match.items()) + "}"
        forms = {"rate": f"rate({selector}[{WINDOW}])", "slope": f"deriv({selector}[{WINDOW}])", "level": selector}
        return ask(self._prometheus, forms[how], self._now_s)


def ask(prometheus: Prometheus, expression: str, now_s: float) -> Vector:
    """Label sets without those of the target, each with an array of one value."""
    return {
        _labels(result["metric"]): np.array([float(result["value"][1])])
        for result in prometheus.query(expression, time=str(now_s))
    }


def _labels(metric: Mapping[str, str]) -> Labels:
    return tuple(sorted((label, value) for label, value in metric.items() if label not in _TARGET_LABELS))


def _by_sorted_labels(vector: Vector) -> dict[Labels, float]:
    return {tuple(sorted(labels)): float(values[0]) for labels, values in vector.items()}


def test_every_signal_is_the_same_in_promql(prometheus: Prometheus, now_s: float) -> None:
    answers = Answers(prometheus, now_s)
    compared = 0
    for signal in SIGNALS.values():
        expected = _by_sorted_labels(ask(prometheus, signal.promql(WINDOW, 'job="h"'), now_s))
        actual = _by_sorted_labels(signal.expression.evaluate(answers))
        assert actual == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), signal.name
        compared += bool(expected)
    assert compared > len(SIGNALS) / 2


def test_rates_are_those_of_prometheus(prometheus: Prometheus, now_s: float) -> None:
    """Prometheus extrapolates to the ends of its window, half a scrape on either side: hence the tolerance."""
    for family in ("hostpulse_host_context_switches_total", "hostpulse_cpu_seconds_total"):
        expected = ask(prometheus, f"rate({family}[{WINDOW}])", now_s)
        for result in prometheus.query(f"{family}[{WINDOW}]", time=str(now_s)):
            samples: Floats = np.array([(when, float(value)) for when, value in result["values"]])
            per_second = rates(samples[:, 0], samples[:, 1:], longest_s=10.0)[1:, 0]
            mean = float(np.average(per_second, weights=np.diff(samples[:, 0])))
            assert math.isclose(mean, expected[_labels(result["metric"])][0], rel_tol=0.1, abs_tol=0.01), result[
                "metric"
            ]
