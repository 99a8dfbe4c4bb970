"""The check of GPUs against stand-ins for NVIDIA's library and for nvidia-smi, with what it said of an H100."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from ctypes.util import find_library
from pathlib import Path

import pytest

from bench import gpu_check
from catalog.families import gpuhealth
from exporter.nvml import SESSION
from tests.nvml import Stub, build, profiles
from tests.tree import ROOT

SAID = {
    "index": "0", "utilization.gpu": "100 %", "utilization.memory": "11 %", "memory.total": "81559 MiB",
    "memory.reserved": "479 MiB", "memory.used": "19818 MiB", "memory.free": "61263 MiB",
    "power.draw": "631.95 W", "power.draw.instant": "625.68 W",
    "enforced.power.limit": "700.00 W", "power.min_limit": "200.00 W",
    "temperature.gpu": "59", "temperature.memory": "54", "temperature.gpu.tlimit": "26", "fan.speed": "[N/A]",
    "pstate": "P0", "pcie.link.gen.current": "5", "pcie.link.width.max": "16", "clocks.current.sm": "1980 MHz",
    "clocks.max.memory": "2619 MHz", "clocks_event_reasons.sw_power_cap": "Not Active",
    "clocks_event_reasons_counters.sw_power_cap": "0 us", "ecc.errors.corrected.volatile.total": "0",
    "ecc.errors.uncorrected.aggregate.sram": "0", "remapped_rows.pending": "No", "remapped_rows.histogram.max": "2560",
    "gpu_recovery_action": "None", "fabric.state": "Completed",
}  # fmt: skip


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """One H100, by both ways."""
    stub = Stub(tmp_path)
    stub.load(build(tmp_path / "lib"))
    SESSION.devices = ()
    stub.say(profiles.host(profiles.H100))
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsaid = {SAID!r}\nfields = sys.argv[1].partition('=')[2].split(',')\n"
        "print('\\n'.join(f'\"{name}\"' for name in said) if 'help' in sys.argv[1] else "
        "', '.join(said.get(field, '') for field in fields))\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    yield stub
    stub.clear()


def _checked() -> tuple[int, dict[str, object], str]:
    lines: list[str] = []
    status = gpu_check.main(["--looks=2", "--polls=3", "--seconds=0.1", "--rounds=1"], lines.append)
    return status, json.loads(lines[-1]), "\n".join(lines[:-1])


@pytest.mark.usefixtures("smi")
def test_values_that_agree_are_told_with_what_they_cost() -> None:
    status, figures, table = _checked()
    assert (status, figures["different"], figures["compared"]) == (0, {}, len(SAID) - 1)
    assert figures["gpus"] == 1
    cost = figures["cost"]
    assert isinstance(cost, dict)
    assert cost["gpu"]["wall_ms"] > 0
    assert "hostpulse_gpu_power_watts" in str(figures["families_seen"])
    assert "compared with nvidia-smi" in table


def test_values_that_differ_fail_the_check_and_are_named(smi: Stub) -> None:
    smi.say({"field.185": "500000u", "margin": "!3", "fan.0": 30}, gpu="*")
    status, figures, table = _checked()
    assert status == 1
    assert figures["different"] == {
        "power.draw of GPU 0": "ours [500.0, 500.0], nvidia-smi 631.95",
        "temperature.gpu.tlimit of GPU 0": "ours none, nvidia-smi 26",
        "fan.speed of GPU 0": "ours [0.3, 0.3], nvidia-smi has none",
    }
    assert "power.draw of GPU 0" in table


def test_power_of_a_gpu_that_does_not_average_agrees(smi: Stub) -> None:
    smi.say({"field.185": "!3", "power": 631950}, gpu="*")
    status, figures, _ = _checked()
    assert (status, figures["different"]) == (0, {})


def test_gpu_outside_a_fabric_has_no_state_of_it_in_nvidia_smi() -> None:
    def difference(state: float) -> str:
        values = {gpuhealth.FABRIC_STATE("0"): state}
        return gpu_check.differences(values, [{"index": "0", "fabric.state": "N/A"}], values)["fabric.state of GPU 0"]

    assert difference(0.0) == ""
    assert difference(3.0) == "ours [3.0, 3.0], nvidia-smi has none"


def test_word_of_nvidia_smi_that_is_not_known_is_a_difference_and_not_the_end() -> None:
    values = {gpuhealth.RECOVERY_ACTION("0"): 1.0}

    def difference(said: str) -> str:
        row = {"index": "0", "gpu_recovery_action": said}
        return gpu_check.differences(values, [row], values)["gpu_recovery_action of GPU 0"]

    assert difference("GPU Reset") == ""
    assert difference("Repair") == "ours [1.0, 1.0], nvidia-smi says 'Repair', which is no number"
    assert difference("[Unknown Error]") == "ours [1.0, 1.0], nvidia-smi has none"


@pytest.mark.usefixtures("smi")
def test_every_field_of_the_check_is_read_by_a_collector() -> None:
    with ExitStack() as stack:
        families = {family for one in gpu_check._opened(stack) for family in one.families}
    assert {twin.family.name for twin in gpu_check._twins()} <= {family.name for family in families}


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVIDIA's driver")
def test_machine_without_a_gpu_is_told_so_in_a_sentence() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bench.gpu_check"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("bench.gpu_check needs a machine with an NVIDIA GPU and nvidia-smi: no NVIDIA driver")
    assert run.stderr.count("\n") == 1
