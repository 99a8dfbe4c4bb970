"""A running detector reads a running Alertmanager's silences, and takes maintenance over HTTP."""

from __future__ import annotations

import subprocess
from pathlib import Path

import requests
from prometheus_client.parser import text_string_to_metric_families as parse

from tests import servers
from tests.tree import ROOT

LIMIT_S = 60.0
MAINTENANCE = "hostpulse_anomaly_maintenance"


def _maintained(detector: servers.Server) -> list[float]:
    families = parse(detector.get("/metrics").text)
    return [sample.value for family in families for sample in family.samples if sample.name == MAINTENANCE]


def _await_maintained(detector: servers.Server, wanted: bool) -> None:
    servers.wait_until(lambda: _maintained(detector) == [wanted], LIMIT_S, lambda: f"maintained: {wanted}")


def test_silence_and_request_put_a_host_into_maintenance_and_out_of_it(tmp_path: Path) -> None:
    shipped = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
    with (
        servers.start_alertmanager(tmp_path / "alertmanager", shipped) as alertmanager,
        servers.start_exporter(tmp_path) as exporter,
        servers.start_detector(
            tmp_path,
            f"--source.exporter.targets={exporter.url}",
            f"--maintenance.alertmanager={alertmanager.url}",
            "--maintenance.interval=1s",
            f"--state.directory={tmp_path / 'state'}",
        ) as detector,
    ):
        _await_maintained(detector, False)
        amtool = [str(servers.binary("amtool")), f"--alertmanager.url={alertmanager.url}", "silence"]
        add = [*amtool, "add", "--duration=1h", "--comment=test", f"instance={exporter.address}"]
        made = subprocess.run(add, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
        _await_maintained(detector, True)
        subprocess.run([*amtool, "expire", made], check=True, timeout=30)
        _await_maintained(detector, False)
        body = {"instance": exporter.address, "duration": "1h"}
        set_over_http = requests.post(f"{detector.url}/api/v1/maintenance", json=body, timeout=10)
        assert set_over_http.status_code == 201
        _await_maintained(detector, True)
    assert set_over_http.json()["id"] in (tmp_path / "state" / "maintenance.json").read_text()
