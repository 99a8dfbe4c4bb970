"""The quick start for a site with Prometheus works as written, on a store with an hour of node_exporter's past."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import yaml

from detector.config import load
from tests.detector.shell.history import node_host, write
from tests.servers import binary, start_victoria_metrics, wait_until
from tests.tree import ROOT

PAGE = (ROOT / "docs" / "quickstart-existing.md").read_text()
LIMIT_S = 180.0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_commands_of_the_page_find_validate_and_judge_a_host(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    end_s = float(int(time.time()) - 5)
    with start_victoria_metrics(tmp_path / "store") as store, (tmp_path / "log").open("wb") as log:
        times_s = end_s - 15.0 * np.arange(240)[::-1]
        write(store, node_host({"job": "node", "instance": "node7:9100"}, times_s))
        script = "\n".join(block for block in blocks("sh") if block.strip() != "make venv")
        script = script.replace("http://127.0.0.1:9090", store.url).replace(":17721", f":{free_port()}")
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        try:
            wait_until(lambda: process.poll() is not None, LIMIT_S, (tmp_path / "log").read_text)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # what the script left behind
            process.wait(10)
    said = (tmp_path / "log").read_text()
    assert process.returncode == 0, said
    for expected in (
        "node_exporter (job node, every 15s) tells",
        "judged in windows of 45s, a new one every 15s",
        "1 of 1 hosts at ",
        'hostpulse_anomaly_score{detector="fused",instance="node7:9100",job="node"}',
        '"instance":"node7:9100"',
    ):
        assert expected in said
    assert not (tmp_path / ".cache" / "quickstart").exists()


def free_port() -> int:
    """One that the kernel gave out and has back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_configurations_of_the_page_are_taken(tmp_path: Path) -> None:
    scrape, detector = blocks("yaml")
    for name, text in (("prometheus.yml", scrape), ("detector.yml", detector)):
        (tmp_path / name).write_text(text)
    check: list[str | Path] = [binary("promtool"), "check", "config", tmp_path / "prometheus.yml"]
    assert subprocess.run(check, capture_output=True, timeout=30).returncode == 0
    assert yaml.safe_load(scrape)["scrape_configs"][0]["honor_labels"] is True
    settings = load(tmp_path / "detector.yml", {}, {"STORE_PASSWORD": "s3cret"})
    assert settings.source.chosen == "prometheus"
    assert settings.source.settings.model_dump()["access"]["tenant"] == "team-a"
