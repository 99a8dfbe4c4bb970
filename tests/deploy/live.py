"""A real Prometheus with two hosts: one with hostpulse's exporter and eight GPUs, one with other exporters only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from catalog import FAMILIES, outputs
from catalog.family import Subsystem
from deploy.grafana.build import FOLDER
from tests import servers
from tests.nvml import Stub, build, profiles
from tests.tree import ROOT

OURS, THEIRS = "alpha", "beta"
JOB = "hostpulse"
GPUS = 8
_LEARNED_LIMIT_S = 120.0  # the shortest baseline is 30 s
_RULES = ROOT / FOLDER / "../../prometheus/rules"


@dataclass(frozen=True, slots=True)
class Live:
    """The Prometheus, once it holds a score of ``OURS``."""

    prometheus: servers.Prometheus


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[Live]:
    """Both hosts scraped, and the one with hostpulse judged."""
    stub = Stub(folder)
    stub.say(profiles.host(profiles.H100, GPUS))
    environment = stub.environment(build(folder / "library"))
    told = [f"{key}={environment[key]}" for key in ("LD_LIBRARY_PATH", "NVML_STUB")]
    with contextlib.ExitStack() as running:
        start = running.enter_context
        exporter = start(servers.start_exporter(folder, "--profile=standard", prefix=("env", *told)))
        everything = ("--collector.vmstat.fields=.*", "--collector.netstat.fields=.*")
        node = start(servers.start_node_exporter(folder, *everything))
        dcgm = start(_serving(dcgm_exposition()))
        prometheus = start(servers.start_prometheus(folder / "prometheus", rules=sorted(_RULES.glob("*.yml"))))
        flags = (f"--source.prometheus.url={prometheus.url}", f"--source.prometheus.job={JOB}")
        state = f"--state.directory={folder / 'models'}"
        detector = start(servers.start_detector(folder, *flags, "--baseline.duration=30s", state))
        _scrape(prometheus, JOB, exporter.address, f"{OURS}:17720")
        _scrape(prometheus, "node", node.address, f"{THEIRS}:9100")
        _scrape(prometheus, "dcgm", dcgm, f"{THEIRS}:9400")
        prometheus.scrape(f"{JOB}-detector", detector.address, honor_labels=True)
        prometheus.await_result(outputs.SCORE.name, _LEARNED_LIMIT_S)
        yield Live(prometheus)


def dcgm_exposition() -> str:
    """What dcgm-exporter tells of eight GPUs, with as many labels as it has."""
    names = {a.name for f in FAMILIES.values() if f.subsystem is Subsystem.GPU for a in f.aliases}
    labels = 'UUID="GPU-{0}",pci_bus_id="0000000{0}:00:00.0",device="nvidia{0}",modelName="NVIDIA H100",Hostname="beta"'
    return "".join(
        f'{name}{{gpu="{gpu}",{labels.format(gpu)}}} {50 + gpu}\n' for name in sorted(names) for gpu in range(GPUS)
    )


def _scrape(prometheus: servers.Prometheus, job: str, address: str, instance: str) -> None:
    """Scrape one target under the name of a host of its own."""
    job_of_target = servers.scrape_job(job, address)
    job_of_target["static_configs"][0]["labels"] = {"instance": instance}
    prometheus.config["scrape_configs"].append(job_of_target)
    prometheus.reload()
    prometheus.await_result(f'up{{job="{job}"}} == 1')


@contextlib.contextmanager
def _serving(text: str) -> Iterator[str]:
    """The address of a server that answers every request with ``text``."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
