"""The servers that tests run: they come up on loopback only, talk to each other, and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests import servers
from tests.servers import packages, process


@pytest.mark.parametrize("name", sorted(name for programs in packages.PACKAGES.values() for name in programs))
def test_every_program_runs_from_the_cache(name: str) -> None:
    flag = {"ip": "-V", "tc": "-V", "ss": "-V"}.get(name, "--version")
    path = servers.binary(name)
    run = subprocess.run(
        [path, flag], env=servers.environment(), capture_output=True, text=True, timeout=30, check=False
    )
    assert packages.CACHE in path.parents
    assert run.returncode == 0, run.stderr


def test_cache_is_filled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    root = servers.fill()
    before = (root.stat().st_mtime_ns, sorted(packages.CACHE.iterdir()))
    monkeypatch.setenv("PATH", "/nonexistent")  # a second filling would need apt-get
    assert servers.fill() == root
    assert (root.stat().st_mtime_ns, sorted(packages.CACHE.iterdir())) == before


def test_missing_apt_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(servers.UnavailableError, match="no apt-get"):
        packages.fill()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_stack_delivers_an_alert_to_the_webhook(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text("groups: [{name: g, rules: [{alert: Up, expr: 'up == 1', labels: {severity: warning}}]}]")
    route = {"receiver": "hook", "group_wait": "1s", "group_interval": "1s"}
    with servers.Webhook() as hook:
        config = {"route": route, "receivers": [{"name": "hook", "webhook_configs": [{"url": hook.url}]}]}
        with (
            servers.start_node_exporter(tmp_path) as node,
            servers.start_alertmanager(tmp_path / "am", config) as alertmanager,
            _scraping(tmp_path, node, rules, alertmanager) as prometheus,
        ):
            alert = hook.await_alert(30, alertname="Up")
            assert alert["labels"]["instance"] == node.address
            assert _addresses(node, alertmanager, prometheus) == {"127.0.0.1"}


def _scraping(folder: Path, node: servers.Server, rules: Path, alertmanager: servers.Server) -> servers.Prometheus:
    jobs = [servers.scrape_job("node", node.address)]
    return servers.start_prometheus(folder / "prometheus", jobs, [rules], alertmanager)


def test_victoria_metrics_shows_what_was_written(tmp_path: Path) -> None:
    with servers.start_victoria_metrics(tmp_path) as victoria:
        requests.post(f"{victoria.url}/api/v1/import/prometheus", data="spine 42\n", timeout=10).raise_for_status()
        victoria.get("/internal/force_flush")

        def stored() -> list[object]:
            reply = victoria.get("/api/v1/query", query="spine", nocache="1").json()
            return [series["value"][1] for series in reply["data"]["result"]]

        assert servers.wait_until(stored, 60, "the sample is visible") == ["42"]


def test_server_that_dies_shows_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such flag')"]
    with pytest.raises(servers.ServerFailedError, match=r"ended with status 1\n.*\nno such flag"):
        servers.launch(servers.Server, "broken", command, tmp_path, "/")
    assert "broken" not in [server.name for server in process.running]


def test_server_that_ignores_sigterm_is_ended_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import signal, socket, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "s = socket.create_server(('127.0.0.1', 0)); threading.Event().wait()"
    )
    monkeypatch.setattr(process, "_STOP_LIMIT_S", 0.2)
    server = servers.launch(servers.Server, "stubborn", [sys.executable, "-c", program], tmp_path, None)
    assert server.stop() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def _addresses(*started: servers.Server) -> set[str]:
    found = set()
    for server in started:
        run = subprocess.run(
            [servers.binary("ss"), "-Hltnp"], env=servers.environment(), capture_output=True, text=True, check=True
        )
        lines = [line.split() for line in run.stdout.splitlines() if f"pid={server.pid}," in line]
        assert lines, f"{server.name} listens nowhere"
        found |= {line[3].rpartition(":")[0] for line in lines}
    return found
