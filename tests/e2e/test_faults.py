"""A real fault becomes a verdict, an alert and a webhook that name the subsystem; a quiet host stays quiet.

Assertions are about verdicts; times are only bounds on waiting. The tests share one stage and run in this order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.faults import cpu_waiting_s, stress
from tests.e2e.stage import Judged, Stage, running_stage, story

CONTROL_WINDOWS = 20
ALERT_LIMIT_S = 60.0
TRIES = 3  # what others do on the machine may spoil one
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
    raised: list[str] = []
    for _ in range(TRIES):
        for judged in stage.judged:
            judged.await_calm()  # each detector sees the others fit their models
        with stress("--cpu", "1", "--cpu-load", "0"):
            seen = {judged.name: judged.watch(CONTROL_WINDOWS) for judged in stage.judged}
        told = [f"{name}: {story(verdict)}" for name, told in seen.items() for verdict in told if verdict["active"]]
        if not told:
            return
        raised += told
    pytest.fail("\n".join(raised))


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
    fault = [argument.format(folder=tmp_path) for argument in arguments]
    alert = {"subsystem": subsystem, "instance": stage.exporter.address}

    def alerted() -> None:
        labels = stage.webhook.await_alert(ALERT_LIMIT_S, **alert)["labels"]
        assert (labels["alertname"], labels["job"]) == ("HostAnomaly", "hostpulse")

    _put_in(stage, stage.of_the_host, stress, fault, subsystem, alerted)
    stage.webhook.await_alert(ALERT_LIMIT_S, "resolved", **alert)


def test_lost_packets_are_blamed_on_the_network(stage: Stage) -> None:
    lossy, link = stage.needed_link()

    def retransmitted() -> None:
        assert any("retransm" in cause["channel"] for cause in lossy.verdict()["causes"]), story(lossy.verdict())
        assert not stage.embedded.verdict()["active"], "the namespace's network is not the host's"

    _put_in(stage, (lossy,), link.loss, (2,), "network", retransmitted)


def _put_in(
    stage: Stage,
    judged: Sequence[Judged],
    fault: Callable[..., AbstractContextManager[None]],
    arguments: Sequence[Any],
    subsystem: str,
    once_blamed: Callable[[], None],
) -> None:
    """Put a fault in until all of ``judged`` blame its subsystem."""
    told: list[str] = []
    for _ in range(TRIES):
        with fault(*arguments):
            verdicts = {one.name: one.await_alarm() for one in judged}
            told += [f"{name}: {story(verdict)}" for name, verdict in verdicts.items()]
            right = {verdict.get("subsystem") for verdict in verdicts.values()} == {subsystem}
            if right:
                once_blamed()
        for one in stage.judged:
            one.await_calm()
        if right:
            return
    pytest.fail("\n".join(told))
