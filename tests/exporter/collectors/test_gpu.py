"""GPUs through the real binding and a stand-in for NVIDIA's library with the figures of real ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from math import isnan

import pytest

from catalog import FAMILIES
from catalog.families import gpu, gpuhealth, mig
from catalog.family import Kind, Profile, Subsystem, Unit
from exporter import nvml
from exporter.collector import Collector, Context, Unavailable
from exporter.nvml import SESSION, Device, NvmlFailed, labelled
from tests.exporter.nvml import KINDS, collector, of, readings
from tests.hosts import written
from tests.nvml import Stub, profiles
from tests.servers.process import wait_until

MIB = 1 << 20
NAMES = ("gpu", "gpuhealth", "gpuinfo", "gpumode", "gpumig", "gpudevices", "gpugpm", "gpumiggpm", "gpuprocesses")
PROFILES: dict[str, Mapping[str, object]] = {"H100": profiles.H100, "H200": profiles.H200_MIG, "L40S": profiles.L40S}


@pytest.fixture
def h100(stub: Stub) -> Iterator[Collector]:
    """Eight of them at work."""
    stub.say(profiles.host(profiles.H100, 8))
    with closing(collector("gpu")) as one:
        yield one


def test_h100_under_load_is_told_in_base_units(h100: Collector) -> None:
    values = readings(h100)
    assert len(of(values, gpu.UP)) == 8
    told = {
        gpu.UP: 1,
        gpu.UTILIZATION_RATIO: 1.0,
        gpu.MEMORY_UTILIZATION_RATIO: 0.11,
        gpu.MEMORY_TOTAL_BYTES: 81559 * MIB,
        gpu.MEMORY_USED_BYTES: 19818 * MIB,
        gpu.MEMORY_RESERVED_BYTES: 479 * MIB,
        gpu.BAR1_USED_BYTES: 19819 * MIB,
        gpu.POWER_WATTS: 631.95,
        gpu.POWER_INSTANT_WATTS: 625.68,
        gpu.ENERGY_JOULES: 123456789.012,
        gpu.TEMPERATURE_CELSIUS: 59,
        gpu.MEMORY_TEMPERATURE_CELSIUS: 54,
        gpu.TEMPERATURE_MARGIN_CELSIUS: 26,
        gpu.PERFORMANCE_STATE: 0,
        gpuhealth.PCIE_REPLAYS: 9,
        gpuhealth.NVLINK_RECEIVE_BYTES: 3_000_000 * 1024,
    }
    assert {family.name: of(values, family)["3"] for family in told} == {family.name: told[family] for family in told}
    assert of(values, gpu.CLOCK_HERTZ)["7,sm"] == 1.98e9
    assert of(values, gpu.CLOCK_HERTZ)["7,memory"] == 2.619e9
    assert not any(map(isnan, values.values()))


def test_reasons_for_slow_clocks_are_told_now_and_as_time(stub: Stub, h100: Collector) -> None:
    stub.say({"reasons": 0x4 | 0x40, "field.270": 2_500_000_000, "field.74": 1_000_000}, gpu=2)
    values = readings(h100)
    active = {key for key, value in of(values, gpu.CLOCK_EVENT_ACTIVE).items() if value}
    assert active == {"2,sw_power_cap", "2,hw_thermal_slowdown"}
    seconds = {key: value for key, value in of(values, gpu.CLOCK_EVENT_SECONDS).items() if value}
    assert seconds == {"2,hw_thermal_slowdown": 2.5, "2,sw_power_cap": 0.001}


def test_what_a_gpu_does_not_have_has_no_series(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H200_MIG))
    with closing(collector("gpu")) as now, closing(collector("gpuhealth")) as health:
        values = readings(now) | readings(health)
    absent = [gpu.UTILIZATION_RATIO, gpu.ENCODER_UTILIZATION_RATIO, gpuhealth.NVLINK_RECEIVE_BYTES]
    absent += [gpuhealth.NVLINK_ERRORS, gpuhealth.REMAPPED_ROWS, gpu.FAN_SPEED_RATIO, gpuhealth.RETIRED_PAGES]
    assert {family.name: of(values, family) for family in absent} == {family.name: {} for family in absent}
    assert of(values, gpuhealth.ROW_REMAP_BANKS)["0,max"] == 3072
    assert not any(map(isnan, values.values()))


def test_l40s_tells_its_throttling_and_no_memory_temperature(stub: Stub) -> None:
    stub.say(profiles.host(profiles.L40S, driver="595.80"))
    with closing(collector("gpu")) as now, closing(collector("gpuhealth")) as health:
        values = readings(now) | readings(health)
    assert of(values, gpu.CLOCK_EVENT_SECONDS)["0,sw_power_cap"] == pytest.approx(204.642816)
    assert of(values, gpu.MEMORY_TEMPERATURE_CELSIUS) == {}
    assert of(values, gpu.ENCODER_UTILIZATION_RATIO) == {"0": 0.6}
    assert of(values, gpu.POWER_LIMIT_WATTS)["0,current"] == 350.0
    assert of(values, gpuhealth.FABRIC_STATE) == {}


@pytest.mark.parametrize("name", PROFILES)
def test_every_value_is_what_its_unit_can_be(name: str, stub: Stub) -> None:
    stub.say(profiles.host(PROFILES[name], 2))
    for kind in NAMES:
        with closing(collector(kind)) as one:
            values = readings(one)
            layout = one.series
            assert tuple(readings(one)) == layout
            assert one.series is layout, "an equal layout stays the same tuple"
        for series, value in values.items():
            family = FAMILIES[series.name]
            assert family in one.families
            assert tuple(label for label, _ in series.labels) == family.labels
            assert isnan(value) or value >= 0
            if family.unit in {Unit.RATIO, Unit.BOOLEAN} or family.kind is Kind.INFO:
                assert isnan(value) or value <= 1, series


def test_core_profile_leaves_out_what_it_does_not_include(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100))
    for kind in ("gpu", "gpuhealth", "gpugpm"):
        with closing(collector(kind, Profile.CORE)) as one:
            assert {FAMILIES[series.name].profile for series in readings(one)} == {Profile.CORE}


def test_health_tells_links_limits_and_memory_errors(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100, 2))
    stub.say(
        {"field.4": 3, "ecc.1.0.7": 3, "field.143": "2u", "field.144": "1u", "pcie_width": 8, "nvlink.4": 0}, gpu=1
    )
    with closing(collector("gpuhealth")) as one:
        values = readings(one)
    assert of(values, gpuhealth.ECC_ERRORS)["1,uncorrected,total"] == 3
    assert of(values, gpuhealth.ECC_ERRORS)["1,uncorrected,sram"] == 3
    assert of(values, gpuhealth.ECC_ERRORS)["0,uncorrected,total"] == 0
    assert of(values, gpuhealth.REMAPPED_ROWS)["1,uncorrected"] == 2
    assert of(values, gpuhealth.REMAPPED_ROWS_PENDING) == {"0": 0, "1": 1}
    assert of(values, gpuhealth.PCIE_LINK_WIDTH) == {"0,current": 16, "0,max": 16, "1,current": 8, "1,max": 16}
    assert of(values, gpuhealth.NVLINK_ACTIVE_LINKS) == {"0": 18, "1": 17}
    assert of(values, gpu.PROCESSES)["0,compute"] == 3


def test_gpu_before_ampere_gives_up_pages_instead_of_rows(stub: Stub) -> None:
    stub.say(profiles.host({"field.29": "2u", "field.30": "1u", "field.31": "1u", "fan.0": 40, "fan.1": 45}))
    with closing(collector("gpuhealth")) as one:
        values = readings(one)
    assert of(values, gpuhealth.RETIRED_PAGES) == {"0,corrected": 2, "0,uncorrected": 1}
    assert of(values, gpuhealth.RETIRED_PAGES_PENDING) == {"0": 1}
    assert of(values, gpu.FAN_SPEED_RATIO) == {"0,0": 0.4, "0,1": 0.45}
    assert of(values, gpuhealth.REMAPPED_ROWS) == {}


def test_gpu_that_falls_off_the_bus_is_down_and_comes_back(stub: Stub, h100: Collector) -> None:
    before = readings(h100)
    layout = h100.series
    stub.say({"lost": 15}, gpu=5)
    values = readings(h100)
    assert h100.series is layout, "nothing vanishes"
    assert of(values, gpu.UP) == {str(label): float(label != 5) for label in range(8)}
    lost = {series for series, value in values.items() if isnan(value)}
    assert lost == {series for series in before if dict(series.labels)["gpu"] == "5" and series.name != gpu.UP.name}
    stub.forget("5.lost")
    assert readings(h100) == before


def test_gpu_that_is_gone_keeps_its_label_and_the_others_theirs(
    stub: Stub, h100: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "RENEW_S", 0.0)
    before = readings(h100)
    layout = h100.series
    stub.say({"unplugged": 1, "lost": 15}, gpu=2)
    stub.say({"temperature.0": 70}, gpu=3)
    readings(h100)  # finds it lost, and looks anew for all of them
    values = readings(h100)
    assert of(values, gpu.UP)["2"] == 0
    assert of(values, gpu.TEMPERATURE_CELSIUS)["3"] == 70, "though it is now the third"
    assert h100.series is layout
    with closing(collector("gpudevices")) as devices:
        assert of(readings(devices), gpu.DEVICES)["nvml"] == 7
    stub.forget("2.unplugged", "2.lost", "3.temperature.0")
    readings(h100)
    assert readings(h100) == before


def test_gpu_that_was_lost_from_the_start_is_down_and_is_found_later(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "RENEW_S", 0.0)
    stub.say(profiles.host(profiles.H100, 2))
    stub.say({"lost": 15}, gpu=0)
    with closing(collector("gpu")) as one:
        assert of(readings(one), gpu.UP) == {"0": 0, "1": 1}
        stub.forget("0.lost")
        readings(one)
        values = readings(one)
    assert of(values, gpu.UP) == {"0": 1, "1": 1}
    assert of(values, gpu.POWER_WATTS) == {"0": 631.95, "1": 631.95}


def test_driver_that_is_unloaded_takes_all_gpus_down(
    stub: Stub, h100: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "RENEW_S", 0.0)
    readings(h100)
    says = dict(stub.says)
    stub.clear()
    stub.say({"error.nvmlDeviceGetFieldValues": 1, "error.nvmlDeviceGetUtilizationRates": 1})
    for _ in range(2):
        values = readings(h100)
        assert set(of(values, gpu.UP).values()) == {0.0}
    stub.clear()
    stub.say(says)
    readings(h100)
    assert set(of(readings(h100), gpu.UP).values()) == {1.0}


def test_field_that_fails_for_once_is_a_gap_and_not_gone(stub: Stub, h100: Collector) -> None:
    stub.say({"field.185": "!999", "utilization": "!999"}, gpu=1)
    values = readings(h100)
    assert of(values, gpu.UP)["1"] == 1
    assert isnan(of(values, gpu.POWER_WATTS)["1"])
    assert isnan(of(values, gpu.UTILIZATION_RATIO)["1"])
    assert of(values, gpu.POWER_INSTANT_WATTS)["1"] == 625.68


def test_what_is_not_supported_is_asked_for_once_and_never_logged(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    stub.say(profiles.host(profiles.H200_MIG))
    caplog.set_level(logging.DEBUG)
    with closing(collector("gpu")) as one:
        readings(one)
        stub.say({"utilization": "50 50"}, gpu="*")
        assert of(readings(one), gpu.UTILIZATION_RATIO) == {}
    assert caplog.records == []


def test_instances_of_a_parted_gpu_come_and_go(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H200_MIG))
    with closing(collector("gpumig")) as one:
        values = readings(one)
        assert of(values, gpu.MIG_MEMORY_TOTAL_BYTES) == {
            "0,2": 71424 * MIB, "0,3": 33280 * MIB, "0,9": 16384 * MIB, "0,10": 16384 * MIB,
        }  # fmt: skip
        assert len(of(values, gpu.MIG_INFO)) == 5, "two share the memory of one"
        assert "0,3,0,2g.35gb,MIG-00000000-0002-0000-0000-000000000000" in of(values, gpu.MIG_INFO)
        stub.forget("*.mig.2.name")
        assert "0,3" not in of(readings(one), gpu.MIG_MEMORY_USED_BYTES)


def test_memory_of_processes_is_told_by_number_and_once(stub: Stub) -> None:
    stub.say(profiles.host(profiles.L40S))
    stub.say({"compute_processes": 2, "graphics_processes": 3}, "*")
    with closing(collector("gpuprocesses")) as one:
        assert of(readings(one), gpu.PROCESS_MEMORY_BYTES) == {f"0,{pid}": MIB for pid in (1000, 1001, 1002)}
        stub.say({"compute_processes": 1, "graphics_processes": 0}, "*")
        assert of(readings(one), gpu.PROCESS_MEMORY_BYTES) == {"0,1000": MIB}


def test_mode_and_info_name_each_gpu(stub: Stub) -> None:
    stub.say(profiles.host(profiles.L40S, driver="595.80"))
    with closing(collector("gpumode")) as mode, closing(collector("gpuinfo")) as info:
        assert of(readings(mode), gpu.MODE_INFO) == {"0,default,off,on,,on,off": 1}
        (labels,) = of(readings(info), gpu.INFO)
    assert labels.startswith("0,GPU-00000000-0000-0000-0000-000000000000,NVIDIA L40S,595.80,13.1,95.02.66.00.02,")
    assert ",0000:10:00.0,8.9," in labels


def test_performance_monitors_tell_ratios_from_the_second_sample_on(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.gpm._LEAST_US", 0)
    stub.say(profiles.host(profiles.H100))
    with closing(collector("gpugpm")) as one:
        assert all(map(isnan, readings(one).values()))
        values = readings(one)
        assert of(values, gpu.SM_OCCUPANCY_RATIO) == {"0": 0.3725}
        assert of(values, gpu.TENSOR_ACTIVE_RATIO) == {"0": 0.72}
        stub.say({"gpm.5": 12.0}, gpu="*")
        assert of(readings(one), gpu.TENSOR_ACTIVE_RATIO) == {"0": 0.12}


def test_instances_of_a_parted_gpu_tell_what_they_do(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.gpm._LEAST_US", 0)
    stub.say(profiles.host(profiles.H200_MIG, 2))
    with closing(collector("gpumiggpm")) as one:
        assert all(map(isnan, readings(one).values()))
        values = readings(one)
        assert of(values, mig.MIG_SM_ACTIVE_RATIO) == {"0,2": 0.815, "0,3": 0.125, "1,2": 0.815, "1,3": 0.125}
        assert of(values, mig.MIG_TENSOR_ACTIVE_RATIO)["1,2"] == 0.64
        assert isnan(of(values, mig.MIG_DRAM_ACTIVE_RATIO)["0,3"]), "this one does not say"
        stub.say({"gi.2.gpm.2": 40.0}, gpu=1)
        assert of(readings(one), mig.MIG_SM_ACTIVE_RATIO)["1,2"] == 0.4
        stub.forget("*.mig.2.name")
        assert of(readings(one), mig.MIG_SM_ACTIVE_RATIO).keys() == {"0,2", "1,2"}
        stub.say({"lost": 15}, gpu=1)
        assert isnan(of(readings(one), mig.MIG_SM_ACTIVE_RATIO)["1,2"]), "its series stay"
    stub.clear()
    stub.say(profiles.host(profiles.H100))
    with closing(collector("gpumiggpm")) as one:
        assert readings(one) == {}, "nothing of a GPU that is whole"


def test_driver_that_is_installed_and_not_loaded_turns_it_off(stub: Stub) -> None:
    stub.clear()
    for name in NAMES:
        with pytest.raises(Unavailable, match=r"libnvidia-ml\.so\.1 is installed, but NVIDIA's driver is not loaded"):
            collector(name)


def test_driver_that_does_not_fit_its_library_is_a_failure(stub: Stub) -> None:
    stub.say({"error.nvmlInitWithFlags": 18})
    with pytest.raises(OSError, match=r"libnvidia-ml\.so\.1: "):
        collector("gpu")


def test_driver_that_hangs_does_not_keep_the_exporter_from_starting(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.say(profiles.host(profiles.H100))
    stub.say({"delay_ms.nvmlInitWithFlags": 500})
    monkeypatch.setattr(SESSION, "_patience", type(SESSION._patience)(0.05))
    with pytest.raises(TimeoutError, match="NVML: no answer"):
        collector("gpu")
    stub.forget("delay_ms.nvmlInitWithFlags")

    def opened() -> Collector | None:
        try:
            return collector("gpu")
        except TimeoutError:
            return None

    with closing(wait_until(opened, 60.0, "the driver answers")) as one:
        assert of(readings(one), gpu.UP) == {"0": 1}


def test_call_that_hangs_makes_others_fail_and_hardly_wait(h100: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_PATIENCE_S", 1.0)
    inside, release = threading.Event(), threading.Event()

    def hang() -> None:
        with SESSION.calling():
            inside.set()
            release.wait(60.0)

    thread = threading.Thread(target=hang)
    thread.start()
    assert inside.wait(60.0)
    began_s = time.monotonic()
    for _ in range(10):
        with pytest.raises(NvmlFailed, match="an earlier call has not returned"):
            h100.read()
    assert time.monotonic() - began_s < 9, "the first one waits longer than the others"
    release.set()
    thread.join(60.0)
    assert set(of(readings(h100), gpu.UP).values()) == {1.0}


def test_capture_of_another_host_never_shows_the_gpus_of_this_one(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100))
    host = written(stub.path.parent / "host", {"/proc/stat": ""})
    for name in (*NAMES, "xid"):
        with pytest.raises(Unavailable, match="capture"):
            KINDS[name](Context(host, Profile.FULL))


def test_gpus_keep_their_labels_whatever_their_order() -> None:
    first = labelled([Device("0", 1, "a"), Device("1", 2, "b"), Device("2", 3, "c")], ())
    cases = {
        "one is gone": [Device("0", 1, "a"), Device("1", 2, "c")],
        "one does not tell its UUID": [Device("0", 1, "a"), Device("1"), Device("2", 2, "c")],
    }
    for name, found in cases.items():
        assert [(d.label, d.uuid, d.handle is None) for d in labelled(found, first)] == [
            ("0", "a", False), ("1", "b", True), ("2", "c", False),
        ], name  # fmt: skip
    added = labelled([*first, Device("3", 4, "d")], first)
    assert [(d.label, d.uuid) for d in added] == [("0", "a"), ("1", "b"), ("2", "c"), ("3", "d")]
    late = labelled([Device("0", 1, "a"), Device("1", 2, "b")], labelled([Device("0"), Device("1", 2, "b")], ()))
    assert [(d.label, d.uuid) for d in late] == [("0", "a"), ("1", "b")]


def test_every_gpu_family_belongs_to_a_collector_of_gpus() -> None:
    families = {family.name for family in FAMILIES.values() if family.subsystem is Subsystem.GPU}
    assert families == {family.name for name in (*NAMES, "xid") for family in KINDS[name].families}
