"""A real fault becomes a verdict, an alert and a webhook that name the subsystem; a quiet host stays quiet.

Assertions are about verdicts; times are only bounds on waiting. The tests share one stage and run in this order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults import cpu_waiting_s, stress
from tests.e2e.stage import Stage, running_stage

CONTROL_WINDOWS = 20
ALERT_LIMIT_S = 60.0
BUSIEST_BASELINE = 0.2  # what the stage itself takes is well below


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """All have learned what this host is like when nothing else runs; where something did, that is not known."""
    with running_stage(tmp_path_factory.mktemp("stage")) as stage:
        began_s, waited_s = time.monotonic(), cpu_waiting_s()
        for judged in stage.judged:
            judged.await_model()
        busy = (cpu_waiting_s() - waited_s) / (time.monotonic() - began_s)
        if busy > BUSIEST_BASELINE:
            pytest.skip(
                f"tasks waited for a CPU in {busy:.0%} of the baseline: other work made this host's faults usual"
            )
        yield stage


def test_an_idle_stressor_raises_nothing(stage: Stage) -> None:
    """The same tool without its load. Its ``--sleep`` will not do: 256 threads that spin on both CPUs for seconds."""
    with stress("--cpu", "1", "--cpu-load", "0"):
        seen = {judged.name: judged.watch(CONTROL_WINDOWS) for judged in stage.judged}
    assert not [verdict for verdicts in seen.values() for verdict in verdicts if verdict["active"]]
    assert not stage.webhook.alerts()


@pytest.mark.parametrize(
    ("subsystem", "arguments"),
    [
        ("storage", ("--hdd", "1", "--hdd-bytes", "256M", "--temp-path", "{folder}")),
        ("memory", ("--vm", "2", "--vm-bytes", "2G")),
        ("cpu", ("--cpu", "1")),
    ],
)
def test_a_fault_is_blamed_on_its_subsystem(
    stage: Stage, subsystem: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with stress(*(argument.format(folder=tmp_path) for argument in arguments)):
        verdicts = {judged.name: judged.await_alarm() for judged in stage.of_the_host}
        blamed = {name: verdict["subsystem"] for name, verdict in verdicts.items()}
        alert = stage.webhook.await_alert(ALERT_LIMIT_S, subsystem=blamed["stored"], instance=stage.exporter.address)
    assert set(blamed.values()) == {subsystem}, verdicts
    assert alert["labels"]["alertname"] == "HostAnomaly"
    assert alert["labels"]["job"] == "hostpulse"
    for judged in stage.judged:
        judged.await_calm()
    stage.webhook.await_alert(ALERT_LIMIT_S, "resolved", subsystem=blamed["stored"], instance=stage.exporter.address)


def test_lost_packets_are_blamed_on_the_network(stage: Stage) -> None:
    lossy, link = stage.needed_link()
    with link.loss(percent=2):
        verdict = lossy.await_alarm()
    assert verdict["subsystem"] == "network", verdict
    assert any("retransm" in cause["channel"] for cause in verdict["causes"])
    assert not stage.embedded.verdict()["active"], "the namespace's network is not the host's"
