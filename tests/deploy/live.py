"""The live stack of the tests here: a judged host with GPUs, all rules, and a host that has other exporters only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import yaml

from catalog import FAMILIES, outputs
from catalog.family import Subsystem
from tests import servers
from tests.nvml import Stub, build, profiles
from tests.tree import ROOT

JOB = "hostpulse"
RULES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yml"))
OURS, THEIRS = "127.0.0.1", "beta"
"""The hosts by their names without ports: hostpulse's exporter and detector, and the one with others."""
_LEARNED_LIMIT_S = 120.0  # the shortest baseline is 30 s


@contextlib.contextmanager
def judged_host(folder: Path, gpus: int = 2) -> Iterator[servers.Prometheus]:
    """Prometheus that scrapes one host with GPUs, under its address, and its detector, which learns it soon."""
    with judged_hosts(folder, ("",), gpus, interval="500ms") as store:
        yield store


@contextlib.contextmanager
def judged_hosts(
    folder: Path,
    names: Sequence[str],
    gpus: int,
    at_work: Callable[[Mapping[str, Stub]], None] = lambda _: None,
    interval: str = "1s",
) -> Iterator[servers.Prometheus]:
    """This host under each of ``names``, with GPUs of its own each; the rules are evaluated often.

    ``at_work`` is told of the GPUs before anything is learned of them. A window ends at each ``interval``, and the
    first model takes some fifty of them.
    """
    library = build(folder / "library")
    with contextlib.ExitStack() as running:
        rules = [_hurried(rules, folder) for rules in RULES]
        store = running.enter_context(servers.start_prometheus(folder / "prometheus", rules=rules))
        source = f"--source.prometheus.url={store.url}", f"--source.prometheus.job={JOB}"
        learning = "--baseline.duration=30s", f"--window.stride={interval}", f"--state.directory={folder / 'state'}"
        detector = running.enter_context(servers.start_detector(folder, *source, *learning))
        stubs: dict[str, Stub] = {}
        job = servers.scrape_job(JOB, interval=interval)
        job["static_configs"] = []
        for name in names:
            own = folder / (name or "host")
            own.mkdir()
            stubs[name] = stub = Stub(own)
            stub.say(profiles.host(profiles.H100, gpus))
            environment = stub.environment(library)
            prefix = ["env", *(f"{key}={environment[key]}" for key in ("LD_LIBRARY_PATH", "NVML_STUB"))]
            exporter = running.enter_context(servers.start_exporter(own, prefix=prefix))
            labels = {"labels": {"instance": f"{name}:17720"}} if name else {}
            job["static_configs"].append({"targets": [exporter.address], **labels})
        store.config["scrape_configs"].append(job)
        at_work(stubs)
        store.scrape(f"{JOB}-detector", detector.address, honor_labels=True)
        fused = f'{outputs.SCORE.name}{{detector="fused"}}'
        store.await_result(fused, _LEARNED_LIMIT_S, accept=lambda result: len(result) == len(names))
        yield store


@contextlib.contextmanager
def other_exporters(store: servers.Prometheus, folder: Path, gpus: int) -> Iterator[None]:
    """Have ``store`` scrape a second host, with node_exporter (told to tell all) and what dcgm-exporter tells."""
    everything = ("--collector.vmstat.fields=.*", "--collector.netstat.fields=.*")
    with servers.start_node_exporter(folder, *everything) as node, _serving(_dcgm_exposition(gpus)) as dcgm:
        for job, address, port in (("node", node.address, 9100), ("dcgm", dcgm, 9400)):
            entry = servers.scrape_job(job, address)
            entry["static_configs"][0]["labels"] = {"instance": f"{THEIRS}:{port}"}
            store.config["scrape_configs"].append(entry)
        store.reload()
        store.await_result('up{job=~"node|dcgm"} == 1', accept=lambda result: len(result) == 2)
        store.await_result('count_over_time(up{job="dcgm"}[1m]) > 2')  # rates need two
        yield


def _hurried(file: Path, folder: Path) -> Path:
    """The same rules, as often as a test can wait for."""
    rules = yaml.safe_load(file.read_text())
    for group in rules["groups"]:
        group["interval"] = "5s"
    hurried = folder / file.name
    hurried.write_text(yaml.safe_dump(rules))
    return hurried


def _dcgm_exposition(gpus: int) -> str:
    """Each field that the catalog knows of, with as many labels as dcgm-exporter puts on."""
    names = {a.name for f in FAMILIES.values() if f.subsystem is Subsystem.GPU for a in f.aliases}
    labels = 'UUID="GPU-{0}",pci_bus_id="0000000{0}:00:00.0",device="nvidia{0}",modelName="NVIDIA H100",Hostname="beta"'
    return "".join(
        f'{name}{{gpu="{gpu}",{labels.format(gpu)}}} {50 + gpu}\n' for name in sorted(names) for gpu in range(gpus)
    )


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
