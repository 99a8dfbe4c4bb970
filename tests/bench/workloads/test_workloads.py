from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.workloads import __main__ as program
from bench.workloads import recorded
from bench.workloads.cable import cable
from bench.workloads.job import Kind
from bench.workloads.process import worker
from bench.workloads.registry import TORCH, WORKLOADS, lacking
from detector.recording import open_recording
from tests.servers.namespace import allowed
from tests.servers.process import wait_until

_PLAIN = [name for name, workload in WORKLOADS.items() if not workload.needs]
_NETWORKS = [name for name, workload in WORKLOADS.items() if workload.needs == TORCH and workload.ranks == 1]


@pytest.mark.parametrize("name", _PLAIN)
def test_workload_tells_when_it_ran_and_how_many_steps_it_did(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program.main([name, "--seconds=0.2"])
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] >= 1
    assert told["ended_s"] - told["begun_s"] >= 0.2


@pytest.mark.parametrize("name", _NETWORKS)
def test_network_does_steps_where_torch_is_installed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(TORCH)
    program.main([name, "--seconds=0.1"])
    assert json.loads(capsys.readouterr().out)["steps"] >= 1


def test_length_that_is_not_allowed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["forest", "--seconds=0"])
    assert "--seconds: '0' is not allowed; allowed: 0.1 to 3600" in capsys.readouterr().err


def test_worker_is_set_up_once_and_runs_as_often_as_it_is_told(tmp_path: Path) -> None:
    with worker(WORKLOADS["nearest_requests"], None, tmp_path) as one:
        first, second = one.run(0.2), one.run(0.2)
    assert first[0] < first[1] <= second[0] < second[1]
    assert min(first[2], second[2]) >= 1


def test_what_a_workload_lacks_is_named() -> None:
    assert lacking(WORKLOADS["forest"], may_join=False) == ""
    assert lacking(WORKLOADS["gloo"], may_join=False) != ""
    assert {workload.kind for workload in WORKLOADS.values() if not workload.needs} == set(Kind)


def test_runs_are_recorded_in_turns_and_found_again_in_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "_PAUSE_S", 0.1)
    names = ["perceptron", "nearest_requests"]
    found = recorded.record(names, 2, 0.5, tmp_path)
    assert sorted(run.workload for run in found.runs) == sorted(2 * names)
    assert {run.workload for run in found.runs[:2]} == set(names)
    assert recorded.load(tmp_path) == found
    first_s, last_s = open_recording(found.directory).span_s
    assert all(first_s - 1.0 <= run.span_s[0] < run.span_s[1] <= last_s + 1.0 for run in found.runs)


@pytest.mark.skipif(not allowed(), reason="network namespaces need root")
def test_ranks_of_a_distributed_job_meet_over_the_cable(tmp_path: Path) -> None:
    pytest.importorskip(TORCH)
    with cable() as link, worker(WORKLOADS["gloo"], link, tmp_path) as one:
        device = Path("/sys/class/net") / link[0].device / "statistics/rx_bytes"
        one.run(0.1)
        before_bytes = int(device.read_text())
        assert one.run(0.5)[2] >= 1
        assert int(device.read_text()) - before_bytes > 50_000
    wait_until(lambda: not device.exists(), 60.0, "the cable is gone")
