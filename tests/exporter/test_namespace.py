"""Inside a network namespace the exporter reports that namespace's network, whatever the host has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tests.servers.namespace import End, Namespace, join, namespace
from tests.servers.programs import ROOT


@pytest.fixture
def inner() -> Iterator[Namespace]:
    """A network namespace with a pair of joined devices, hp0 and hp1."""
    with namespace(f"hostpulse-exporter-{os.getpid()}") as made:
        join(End(made, "hp0"), End(made, "hp1"))
        yield made


def test_network_of_the_namespace_is_reported_and_not_the_hosts(inner: Namespace) -> None:
    run = subprocess.run(
        [*inner.prefix, sys.executable, "-m", "exporter", "once"],
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
