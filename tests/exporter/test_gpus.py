"""GPUs that differ from those of the profiles: in how their driver numbers fields, in how many parts they have."""

from __future__ import annotations

from contextlib import closing

from catalog.families import gpu, gpuhealth
from exporter.nvml import SESSION
from tests.exporter.nvml import collector, of, readings
from tests.nvml import Stub, profiles


def test_time_with_slow_clocks_is_found_by_the_ids_of_an_earlier_driver(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100, driver="580.65.06"))
    stub.forget("*.field.269", "*.field.270", "*.field.271")
    stub.say({"field.251": 1_000_000_000, "field.252": 2_500_000_000, "field.253": 0}, gpu="*")
    with closing(collector("gpu")) as one:
        seconds = of(readings(one), gpu.CLOCK_EVENT_SECONDS)
    assert seconds == {
        "0,sw_power_cap": 0.0,
        "0,sync_boost": 0.0,
        "0,sw_thermal_slowdown": 1.0,
        "0,hw_thermal_slowdown": 2.5,
        "0,hw_power_brake_slowdown": 0.0,
    }


def test_how_power_is_smoothed_is_not_taken_for_time_with_slow_clocks(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100))
    stub.say({"field.251": "1u", "field.252": "2u", "field.253": "3u"}, gpu="*")
    with closing(collector("gpu")) as one:
        values = readings(one)
        assert not any(of(values, gpu.CLOCK_EVENT_SECONDS).values())
        assert len(of(values, gpu.CLOCK_EVENT_SECONDS)) == 5


def test_as_many_links_are_counted_as_there_can_be(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100))
    stub.say({f"nvlink.{link}": 1 for link in range(64)}, gpu="*")
    with closing(collector("gpuhealth")) as one:
        links = of(readings(one), gpuhealth.NVLINK_ACTIVE_LINKS)
        assert links == {"0": SESSION.nvml.NVML_NVLINK_MAX_LINKS}
