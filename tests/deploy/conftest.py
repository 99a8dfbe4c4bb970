"""One live stack for all tests that ask it: an exporter with GPUs, a detector that has learned, and all rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalog import outputs
from tests import servers
from tests.nvml import Stub, build, profiles
from tests.tree import ROOT

JOB = "hostpulse"
RULES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yml"))
_LEARNED_LIMIT_S = 120.0  # the shortest baseline is 30 s


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Prometheus]:
    """Prometheus with the shipped rules, evaluated often, that scrapes a host of two GPUs and its detector."""
    folder = tmp_path_factory.mktemp("live")
    library = build(folder / "library")
    stub = Stub(library)
    stub.say(profiles.host(profiles.H100, 2))
    environment = stub.environment(library)
    prefix = ["env", *(f"{name}={environment[name]}" for name in ("LD_LIBRARY_PATH", "NVML_STUB"))]
    with (
        servers.start_exporter(folder, prefix=prefix) as exporter,
        servers.start_prometheus(folder / "prometheus", rules=[_hurried(rules, folder) for rules in RULES]) as store,
        servers.start_detector(
            folder,
            f"--source.prometheus.url={store.url}",
            f"--source.prometheus.job={JOB}",
            "--baseline.duration=30s",
            f"--state.directory={folder / 'state'}",
        ) as detector,
    ):
        store.scrape(JOB, exporter.address)
        store.scrape(f"{JOB}-detector", detector.address, honor_labels=True)
        store.await_result(outputs.SCORE.name, _LEARNED_LIMIT_S)
        yield store


def _hurried(file: Path, folder: Path) -> Path:
    """The same rules, as often as a test can wait for."""
    rules = yaml.safe_load(file.read_text())
    for group in rules["groups"]:
        group["interval"] = "5s"
    hurried = folder / file.name
    hurried.write_text(yaml.safe_dump(rules))
    return hurried
