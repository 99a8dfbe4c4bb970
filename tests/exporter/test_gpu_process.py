"""GPUs as a user sees them: the command with the driver's library there, old, slow or not there at all."""

from __future__ import annotations

import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path
from threading import Thread

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog.families import gpu, gpuhealth
from catalog.families.exporter import COLLECTOR_SUCCESS, SAMPLE_TIMESTAMP_SECONDS
from catalog.family import Family, Tier
from exporter.engine import Engine
from exporter.settings import Settings
from tests.exporter.nvml import KINDS
from tests.exporter.tiny import Script, scripted, times_of
from tests.nvml import Stub, build, profiles
from tests.servers.packages import binary
from tests.servers.process import wait_until
from tests.servers.programs import start_exporter
from tests.tree import ROOT

_LIMIT_S = 60.0


def _run(*arguments: str, environment: dict[str, str] | None = None) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "exporter", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    return run.stdout


def _values(text: str, name: str) -> dict[str, float]:
    return {
        ",".join(sample.labels.values()): sample.value
        for metric in parse_text(text)
        for sample in metric.samples
        if sample.name == name
    }


def test_eight_gpus_are_exposed_as_promtool_likes_it(stub: Stub, library: Path) -> None:
    stub.say(profiles.host(profiles.H100, 8))
    text = _run("once", "--profile=full", environment=stub.environment(library))
    assert set(_values(text, gpu.UP.name).values()) == {1.0}
    assert len(_values(text, gpu.INFO.name)) == 8
    assert _values(text, gpu.POWER_WATTS.name)["7"] == 631.95
    assert len([line for line in text.splitlines() if line.startswith("hostpulse_gpu_")]) > 800
    run = subprocess.run([binary("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
    assert (run.stdout + run.stderr, run.returncode) == ("", 0)


def test_old_driver_without_later_functions_gives_what_it_has(stub: Stub, tmp_path: Path) -> None:
    old = build(tmp_path / "old", "-DOLD_DRIVER")
    stub.say(profiles.host(profiles.H100, 2, driver="418.226.00"))
    text = _run("once", "--profile=full", environment=stub.environment(old))
    assert _values(text, gpu.UP.name) == {"0": 1.0, "1": 1.0}
    assert _values(text, gpu.POWER_WATTS.name)["0"] == 631.95, "by the call that there was before"
    assert _values(text, gpu.ENERGY_JOULES.name)["0"] == 123456789.012
    assert _values(text, gpu.MEMORY_USED_BYTES.name)["0"] == (19818 + 479) * 1048576, "it counts the reserve in"
    assert _values(text, gpuhealth.PCIE_REPLAYS.name)["0"] == 9
    assert _values(text, gpu.CLOCK_EVENT_ACTIVE.name)["0,gpu_idle"] == 0
    assert _values(text, gpu.SM_ACTIVE_RATIO.name) == {}
    assert _values(text, gpuhealth.ROW_REMAP_BANKS.name) == {}


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVIDIA's driver")
def test_host_without_a_driver_says_which_library_is_missing() -> None:
    lines = _run("list", "--profile=full").splitlines()
    states = {line.partition(":")[0]: line for line in lines if not line.startswith(" ")}
    for name in ("gpu", "gpuhealth", "gpuinfo", "gpumig", "gpumode", "gpudevices", "gpugpm", "gpumiggpm", "xid"):
        assert "off (no NVIDIA driver: the library libnvidia-ml.so.1 cannot be loaded" in states[name]


def test_scraper_sees_a_gpu_fall_off_the_bus_and_come_back(
    stub: Stub, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.say(profiles.host(profiles.H100, 8))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    with start_exporter(tmp_path, "--gpu.interval=100ms") as server:

        def values(family: Family) -> dict[str, float]:
            return _values(server.get("/metrics").text, family.name)

        wait_until(lambda: values(gpu.UP) == dict.fromkeys("01234567", 1.0), _LIMIT_S, "eight GPUs")
        stub.say({"lost": 15}, gpu=4)
        wait_until(lambda: values(gpu.UP)["4"] == 0, _LIMIT_S, "it is down")
        assert set(values(gpu.POWER_WATTS)) == set("0123567")
        wait_until(lambda: values(COLLECTOR_SUCCESS).get("gpu") == 1, _LIMIT_S, "the others are read")
        stub.forget("4.lost")
        wait_until(lambda: values(gpu.UP)["4"] == 1, _LIMIT_S, "it is back")
        assert values(gpu.POWER_WATTS)["4"] == 631.95
        assert values(SAMPLE_TIMESTAMP_SECONDS)["gpu"] > 0
        assert "gpuhealth" in server.get("/").text


def test_slow_driver_does_not_delay_the_fast_tier(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100, 4))
    stub.say({"delay_ms.nvmlDeviceGetUtilizationRates": 150})
    fast = scripted("fast", Tier.FAST, Script())
    built = Engine(Settings(interval_s=0.02, gpu_interval_s=0.02), {"fast": fast, "gpu": KINDS["gpu"]})
    thread = Thread(target=built.sampler.run)
    thread.start()
    wait_until(lambda: len(times_of(built, Tier.GPU)) >= 2, _LIMIT_S, "two looks at the GPUs")
    first, second = times_of(built, Tier.GPU)[:2]
    built.sampler.stop()
    thread.join(_LIMIT_S)
    assert second - first > 0.5, "four calls of 150 ms"
    between = [time_s for time_s in times_of(built, Tier.FAST) if first < time_s < second]
    assert len(between) >= 10
    assert built.tally.paces[Tier.GPU].overruns > 0, "what was missed is counted"
    built.slots[1].close()


def test_driver_that_hangs_leaves_gaps_and_recovers(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100))
    kinds = {"fast": scripted("fast", Tier.FAST, Script()), "gpu": KINDS["gpu"]}
    built = Engine(Settings(interval_s=0.02, gpu_interval_s=0.02, deadline_s=0.1), kinds)
    thread = Thread(target=built.sampler.run)
    thread.start()
    health = built.tally.collectors["gpu"]
    wait_until(lambda: times_of(built, Tier.GPU), _LIMIT_S, "a look at the GPU")
    stub.say({"delay_ms.nvmlDeviceGetTemperature": 400})
    wait_until(lambda: health.state == "hung", _LIMIT_S, "it counts as hung")
    stub.forget("delay_ms.nvmlDeviceGetTemperature")
    wait_until(lambda: health.state == "on", _LIMIT_S, "it is read again")
    built.sampler.stop()
    thread.join(_LIMIT_S)
    assert health.errors["deadline"] >= 1
    built.slots[1].close()
