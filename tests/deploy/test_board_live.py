"""Each expression of the board returns data on a real Prometheus that scrapes a running exporter and detector."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest

from catalog import outputs
from tests import servers
from tests.deploy.test_board import expressions

JOB = "hostpulse"
SELECTOR = re.compile(r"\w+\{[^}]*\}")
LEARNED_LIMIT_S = 120.0  # the shortest baseline is 30 s


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[servers.Prometheus, str]]:
    """Prometheus once it holds a score, and the instance that is judged."""
    folder = tmp_path_factory.mktemp("board")
    with (
        servers.start_exporter(folder) as exporter,
        servers.start_prometheus(folder / "prometheus") as prometheus,
        servers.start_detector(
            folder,
            f"--source.prometheus.url={prometheus.url}",
            f"--source.prometheus.job={JOB}",
            "--baseline.duration=30s",
            f"--state.directory={folder / 'state'}",
        ) as detector,
    ):
        prometheus.scrape(JOB, exporter.address)
        prometheus.scrape(f"{JOB}-detector", detector.address, honor_labels=True)
        prometheus.await_result(outputs.SCORE.name, LEARNED_LIMIT_S)
        yield prometheus, exporter.address


def test_expressions_return_data(scraped: tuple[servers.Prometheus, str]) -> None:
    prometheus, instance = scraped
    silent, shown = [], 0
    for title, expression in expressions({"instance": instance, "__rate_interval": "10s"}):
        if all(map(prometheus.query, SELECTOR.findall(expression))):  # the rest is hardware that is not here
            result = prometheus.query(expression)
            shown += 1
            if not any(math.isfinite(float(series["value"][1])) for series in result):
                silent.append(f"{title}: {expression} -> {result}")
    assert not silent, "\n".join(silent)
    assert shown > 60


def test_host_can_be_chosen_by_the_variable(scraped: tuple[servers.Prometheus, str]) -> None:
    prometheus, instance = scraped
    choices = prometheus.get("/api/v1/label/instance/values", **{"match[]": outputs.WINDOW_END.name}).json()["data"]
    assert choices == [instance]
