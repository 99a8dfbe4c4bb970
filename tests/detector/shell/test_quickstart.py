"""The quick start for a site with Prometheus works as written, on a store with an hour of node_exporter's past."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import numpy as np
import yaml

from detector.config import load
from tests.detector.shell.history import node_host, write
from tests.page import blocks, carry_out
from tests.servers import binary, start_victoria_metrics
from tests.tree import ROOT

PAGE = (ROOT / "docs" / "quickstart-existing.md").read_text()
LIMIT_S = 180.0


def test_commands_of_the_page_find_validate_and_judge_a_host(tmp_path: Path) -> None:
    end_s = float(int(time.time()) - 5)
    with start_victoria_metrics(tmp_path / "store") as store:
        times_s = end_s - 15.0 * np.arange(240)[::-1]
        write(store, node_host({"job": "node", "instance": "node7:9100"}, times_s))
        script = "\n".join(block for block in blocks(PAGE, "sh") if block.strip() != "make venv")
        said = carry_out(script.replace("http://127.0.0.1:9090", store.url), tmp_path, LIMIT_S)
    for expected in (
        "node_exporter (job node, every 15s) tells",
        "judged in windows of 45s, a new one every 15s",
        "1 of 1 hosts at ",
        'hostpulse_anomaly_score{detector="fused",instance="node7:9100",job="node"}',
        '"instance":"node7:9100"',
    ):
        assert expected in said
    assert not (tmp_path / ".cache" / "quickstart").exists()


def test_configurations_of_the_page_are_taken(tmp_path: Path) -> None:
    scrape, detector = blocks(PAGE, "yaml")
    for name, text in (("prometheus.yml", scrape), ("detector.yml", detector)):
        (tmp_path / name).write_text(text)
    check: list[str | Path] = [binary("promtool"), "check", "config", tmp_path / "prometheus.yml"]
    assert subprocess.run(check, capture_output=True, timeout=30).returncode == 0
    assert yaml.safe_load(scrape)["scrape_configs"][0]["honor_labels"] is True
    settings = load(tmp_path / "detector.yml", {}, {"STORE_PASSWORD": "s3cret"})
    assert settings.source.chosen == "prometheus"
    assert settings.source.settings.model_dump()["access"]["tenant"] == "team-a"
