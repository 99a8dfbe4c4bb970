from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench.faults.peers import kmeans
from bench.faults.peers.stored import RULES, by_kmeans, by_rules
from bench.faults.stage import PEERS
from tests.servers import binary, scrape_job, start_prometheus
from tests.servers.webhook import Webhook

TRAINED, LENGTH = 1200, 1400


def _noise(metrics: int) -> kmeans.Floats:
    return np.random.default_rng(1).normal(size=(LENGTH, metrics)).cumsum(axis=0)


def test_shape_of_a_sample_is_its_last_smoothed_differences() -> None:
    rows = kmeans.shapes(np.arange(20.0) ** 2)
    assert rows.shape == (20, kmeans.LAG + 1)
    assert np.isnan(rows[: kmeans.SMOOTH + kmeans.LAG]).any(axis=1).all()
    assert rows[10].tolist() == [17.0, 15.0, 13.0, 11.0, 9.0, 7.0], "differences of squares, averaged over three"


def test_a_jump_of_many_metrics_alarms_and_noise_hardly_ever() -> None:
    values = _noise(10)
    values[1300:, :5] += 60.0 * np.arange(1, 101)[:, None]
    alarmed = kmeans.alarmed(values, TRAINED)
    assert alarmed[1303:1400].all()
    assert alarmed[TRAINED:1300].mean() < 0.5


def test_constant_metric_and_holes_are_not_unusual() -> None:
    assert not kmeans.unusual(np.full(LENGTH, 7.0), TRAINED).any()
    holes = _noise(1)[:, 0]
    holes[1300:1310] = np.nan
    assert not kmeans.unusual(holes, TRAINED)[1300:1310].any()


def test_one_model_that_knows_a_sample_acquits_it() -> None:
    values = _noise(1)[:, 0]
    values[1300:1310] += 40.0 * np.arange(10)
    assert kmeans.unusual(values, TRAINED)[1302:1308].any()
    values[1190:1200] += 40.0 * np.arange(10)  # only the last of the models has learned this
    assert not kmeans.unusual(values, TRAINED)[1302:1308].any()


def test_rules_of_the_peers_are_valid_and_carry_their_names() -> None:
    files = sorted(PEERS.glob("*.yml"))
    run = subprocess.run([binary("promtool"), "check", "rules", *files], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    for peer in RULES:
        assert f"peer: {peer}" in "".join(file.read_text() for file in files)


def test_what_the_peers_said_is_read_from_the_store(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text("groups: [{name: g, rules: [{alert: Always, expr: 'vector(1)', labels: {peer: static_rules}}]}]")
    with Webhook() as target, start_prometheus(tmp_path, [scrape_job("hostpulse", target.url[7:-1])], [rules]) as store:
        found = store.await_result('ALERTS{alertstate="firing"}')
        at_s = float(found[0]["value"][0])
        track = by_rules(store, "static_rules", at_s - 50, at_s)
        assert [round(one.start_s) >= 40 for one in track.alarms] == [True]
        before = by_rules(store, "static_rules", at_s + 0.5, at_s + 0.5)
        assert [one.start_s < 0 for one in before.alarms] == [True], "it fired already"
        assert by_rules(store, "promql_bands", at_s - 50, at_s).alarms == []
        with pytest.raises(AssertionError, match="no metrics of the job hostpulse"):
            by_kmeans(store, "hostpulse", at_s, 60, at_s + 1)
