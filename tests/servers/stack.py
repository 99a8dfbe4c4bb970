"""Prometheus, Alertmanager, node_exporter and VictoriaMetrics, each on a loopback port of the kernel's choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.servers.packages import binary, environment, fill
from tests.servers.process import READY_LIMIT_S, Server, launch, wait_until

LOOPBACK = "127.0.0.1:0"
Result = list[dict[str, Any]]


@dataclass(eq=False)
class Prometheus(Server):
    """A Prometheus whose configuration can be changed while it runs."""

    file: Path = field(default_factory=Path)
    config: dict[str, Any] = field(default_factory=dict)

    def query(self, expression: str, **parameters: str) -> Result:
        """The ``result`` of an instant query; AssertionError with the server's own words for a bad expression."""
        reply = requests.get(f"{self.url}/api/v1/query", params={"query": expression, **parameters}, timeout=30)
        body = reply.json()
        assert body["status"] == "success", f"{expression}: {body.get('error')}"
        result: Result = body["data"]["result"]
        return result

    def await_result(
        self, expression: str, limit_s: float = READY_LIMIT_S, accept: Callable[[Result], bool] = bool
    ) -> Result:
        """The first result of ``expression`` that ``accept`` takes: by default one that is not empty."""
        latest: list[Result] = [[]]

        def answered() -> bool:
            latest[0] = self.query(expression)
            return accept(latest[0])

        wait_until(answered, limit_s, lambda: f"{expression} as wanted, got {latest[0]}")
        return latest[0]

    def scrape(self, job: str, *addresses: str, interval: str = "1s", honor_labels: bool = False) -> None:
        """Add a scrape job (or replace the one of that name) and wait until each of its targets was scraped well."""
        jobs = [other for other in self.config["scrape_configs"] if other["job_name"] != job]
        jobs.append(scrape_job(job, *addresses, interval=interval, honor_labels=honor_labels))
        self.config["scrape_configs"] = jobs
        self.reload()
        self.await_result(f'up{{job="{job}"}} == 1', accept=lambda result: len(result) == len(addresses))

    def reload(self) -> None:
        """Write ``config`` and have it read; AssertionError with the log when it is refused."""
        self.file.write_text(yaml.safe_dump(self.config))
        reply = requests.post(f"{self.url}/-/reload", timeout=30)
        assert reply.ok, f"{reply.text}\n{self.logged()}"


def scrape_job(job: str, *addresses: str, interval: str = "1s", honor_labels: bool = False) -> dict[str, Any]:
    """One entry of ``scrape_configs`` with static targets."""
    return {
        "job_name": job,
        "scrape_interval": interval,
        "scrape_timeout": interval,
        "honor_labels": honor_labels,
        "static_configs": [{"targets": list(addresses)}],
    }


def start_prometheus(
    folder: Path,
    scrapes: Sequence[dict[str, Any]] = (),
    rules: Sequence[Path] = (),
    alertmanager: Server | None = None,
    flags: Sequence[str] = (),
    ready: str | None = "/-/ready",
    retention: str = "7d",
) -> Prometheus:
    """Prometheus with those scrape jobs and rule files, evaluated each second.

    With ``ready`` None it only has to listen: for one that asks for a password or a certificate.
    With an Alertmanager it returns once that is discovered: an alert fired before is dropped and only sent again
    after the resend delay, which is 2 s here.
    """
    config: dict[str, Any] = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rule.resolve()) for rule in rules],
        "scrape_configs": list(scrapes),
    }
    if alertmanager is not None:
        config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager.address]}]}]}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    command: list[str | Path] = [
        binary("prometheus"),
        f"--config.file={file}",
        f"--web.listen-address={LOOPBACK}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--storage.tsdb.retention.time={retention}",
        "--web.enable-lifecycle",
        "--web.enable-remote-write-receiver",
        "--rules.alert.resend-delay=2s",
        *flags,
    ]
    prometheus = launch(Prometheus, "prometheus", command, folder, ready)
    prometheus.file, prometheus.config = file, config
    if alertmanager is not None:
        known = lambda: prometheus.get("/api/v1/alertmanagers").json()["data"]["activeAlertmanagers"]  # noqa: E731
        wait_until(known, READY_LIMIT_S, "Alertmanager is discovered")
    return prometheus


def start_alertmanager(folder: Path, config: dict[str, Any] | Path, flags: Sequence[str] = ()) -> Server:
    """Alertmanager with that configuration (or a file of it), without its gossip port."""
    folder.mkdir(parents=True, exist_ok=True)
    file = config if isinstance(config, Path) else folder / "alertmanager.yml"
    if not isinstance(config, Path):
        file.write_text(yaml.safe_dump(config))
    command: list[str | Path] = [
        binary("prometheus-alertmanager"),
        f"--config.file={file}",
        f"--web.listen-address={LOOPBACK}",
        f"--storage.path={folder / 'data'}",
        "--cluster.listen-address=",
        *flags,
    ]
    return launch(Server, "alertmanager", command, folder, "/-/ready", working_folder=fill())


def start_node_exporter(folder: Path, *flags: str) -> Server:
    """Debian's node_exporter without what its defaults expect on the machine: a bus, a folder of text files."""
    command: list[str | Path] = [
        binary("prometheus-node-exporter"),
        f"--web.listen-address={LOOPBACK}",
        "--no-collector.systemd",
        "--collector.textfile.directory=",
        *flags,
    ]
    return launch(Server, "node_exporter", command, folder, "/metrics")


def start_victoria_metrics(folder: Path, *flags: str) -> Server:
    """Single-node VictoriaMetrics that shows samples at once and keeps each of them."""
    command: list[str | Path] = [
        binary("victoria-metrics"),
        f"-httpListenAddr={LOOPBACK}",
        f"-storageDataPath={folder / 'data'}",
        "-retentionPeriod=1",
        "-search.latencyOffset=0s",
        "-dedup.minScrapeInterval=0",
        *flags,
    ]
    return launch(Server, "victoria-metrics", command, folder, "/health", environment())
