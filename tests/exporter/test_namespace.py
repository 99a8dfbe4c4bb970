"""Inside a network namespace the exporter reports that namespace's network, whatever the host has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tests.servers import UnavailableError, binary
from tests.servers.programs import ROOT


def _ip(*arguments: str) -> None:
    run = subprocess.run([binary("ip"), *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 0, f"ip {' '.join(arguments)}: {run.stderr}"


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace with a pair of joined devices, hp0 and hp1."""
    if os.geteuid() != 0:
        raise UnavailableError("making a network namespace needs root")
    name = f"hostpulse-exporter-{os.getpid()}"
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "add", "hp0", "type", "veth", "peer", "name", "hp1")
        _ip("-n", name, "link", "set", "hp0", "up")
        yield name
    finally:
        _ip("netns", "delete", name)


def test_network_of_the_namespace_is_reported_and_not_the_hosts(namespace: str) -> None:
    run = subprocess.run(
        [binary("ip"), "netns", "exec", namespace, sys.executable, "-m", "exporter", "once"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    samples = [sample for metric in parse_text(run.stdout) for sample in metric.samples]
    devices = {
        sample.labels["device"]
        for sample in samples
        if sample.name.startswith("hostpulse_network_") and "device" in sample.labels
    }
    assert devices - {"lo"} == {"hp0", "hp1"}
    assert any(sample.name == "hostpulse_cpu_seconds_total" for sample in samples), "the CPUs are still the host's"
