"""Real servers for tests and benches: Debian's Prometheus, Alertmanager, node_exporter, VictoriaMetrics and tools.

All listen on ports of 127.0.0.1 that the kernel chooses, are awaited with a bound and stopped by their PID::

    with Webhook() as hook, start_exporter(tmp_path) as exporter:
        with start_prometheus(tmp_path, [scrape_job("hostpulse", exporter.address)]) as prometheus:
            prometheus.await_result("up == 1")
"""

from deploy.debian import UnavailableError
from tests.servers.packages import binary, environment, fill
from tests.servers.process import Server, ServerFailedError, launch, listening_ports, wait_until
from tests.servers.programs import start_detector, start_exporter
from tests.servers.stack import (
    Prometheus,
    scrape_job,
    start_alertmanager,
    start_node_exporter,
    start_prometheus,
    start_victoria_metrics,
)
from tests.servers.webhook import Alert, Webhook

__all__ = [
    "Alert",
    "Prometheus",
    "Server",
    "ServerFailedError",
    "UnavailableError",
    "Webhook",
    "binary",
    "environment",
    "fill",
    "launch",
    "listening_ports",
    "scrape_job",
    "start_alertmanager",
    "start_detector",
    "start_exporter",
    "start_node_exporter",
    "start_prometheus",
    "start_victoria_metrics",
    "wait_until",
]
