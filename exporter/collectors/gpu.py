"""What GPUs do now: utilisation, memory, power, temperature, clocks and what holds them down, traffic.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from catalog.families import gpu, gpuhealth
from catalog.family import Tier
from exporter.gpus import CLOCKS, Ask, Field, GpuCollector, Part, asking, divided, hertz

_NANOSECONDS, _MILLI, _PERCENT = 1e9, 1e3, 100.0  # of these make one second, watt or joule, whole
_KIB = 1 / 1024
_ALL_LINKS = 0xFFFFFFFF
_REASONS = {
    "sw_power_cap": "SW_POWER_CAP",
    "sync_boost": "SYNC_BOOST",
    "sw_thermal_slowdown": "SW_THERM_SLOWDOWN",
    "hw_thermal_slowdown": "HW_THERM_SLOWDOWN",
    "hw_power_brake_slowdown": "HW_POWER_BRAKE_SLOWDOWN",
}
# Drivers up to 580.65 know three of them by these ids, which have meant since then how power is smoothed:
# https://docs.nvidia.com/deploy/nvml-api/known-issues.html
_EARLIER_IDS = {"sw_thermal_slowdown": 251, "hw_thermal_slowdown": 252, "hw_power_brake_slowdown": 253}
_POLICIES = (
    *("POWER", "THERMAL", "SYNC_BOOST", "BOARD_LIMIT", "LOW_UTILIZATION", "RELIABILITY"),
    *("TOTAL_APP_CLOCKS", "TOTAL_BASE_CLOCKS"),
)
# Bits of nvmlClocksEventReasons…, the same since its reasons were those of throttling.
_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
}


class GpuNowCollector(GpuCollector):
    """Read at ``--gpu.interval``; says, too, whether each GPU is there."""

    name = "gpu"
    tier = Tier.GPU
    tells_up = True
    fields = (
        Field("POWER_AVERAGE", gpu.POWER_WATTS, divisor=_MILLI),
        Field("POWER_INSTANT", gpu.POWER_INSTANT_WATTS, divisor=_MILLI),
        Field("TOTAL_ENERGY_CONSUMPTION", gpu.ENERGY_JOULES, divisor=_MILLI),
        Field("MEMORY_TEMP", gpu.MEMORY_TEMPERATURE_CELSIUS),
        *(
            Field(f"CLOCKS_EVENT_REASON_{name}", gpu.CLOCK_EVENT_SECONDS, (reason,), _NANOSECONDS)
            for reason, name in _REASONS.items()
        ),
        *(
            Field(
                f"CLOCKS_EVENT_REASON_{_REASONS[reason]}", gpu.CLOCK_EVENT_SECONDS, (reason,), _NANOSECONDS, number=id_
            )
            for reason, id_ in _EARLIER_IDS.items()
        ),
        *(Field(f"PERF_POLICY_{name}", gpu.VIOLATION_SECONDS, (name.lower(),), _NANOSECONDS) for name in _POLICIES),
        Field("PCIE_COUNT_RX_BYTES", gpuhealth.PCIE_RECEIVE_BYTES),
        Field("PCIE_COUNT_TX_BYTES", gpuhealth.PCIE_TRANSMIT_BYTES),
        Field("PCIE_REPLAY_COUNTER", gpuhealth.PCIE_REPLAYS),
        Field("NVLINK_THROUGHPUT_DATA_RX", gpuhealth.NVLINK_RECEIVE_BYTES, divisor=_KIB, scope=_ALL_LINKS),
        Field("NVLINK_THROUGHPUT_DATA_TX", gpuhealth.NVLINK_TRANSMIT_BYTES, divisor=_KIB, scope=_ALL_LINKS),
    )
    families = tuple(
        dict.fromkeys(
            (
                gpu.UP,
                *(field.family for field in fields),
                gpu.UTILIZATION_RATIO,
                gpu.MEMORY_UTILIZATION_RATIO,
                gpu.ENCODER_UTILIZATION_RATIO,
                gpu.DECODER_UTILIZATION_RATIO,
                gpu.JPEG_UTILIZATION_RATIO,
                gpu.OFA_UTILIZATION_RATIO,
                gpu.MEMORY_USED_BYTES,
                gpu.MEMORY_FREE_BYTES,
                gpu.MEMORY_TOTAL_BYTES,
                gpu.MEMORY_RESERVED_BYTES,
                gpu.BAR1_USED_BYTES,
                gpu.TEMPERATURE_CELSIUS,
                gpu.TEMPERATURE_MARGIN_CELSIUS,
                gpu.CLOCK_HERTZ,
                gpu.CLOCK_EVENT_ACTIVE,
                gpu.PERFORMANCE_STATE,
            )
        )
    )

    def asks(self, nvml: Any) -> Iterator[Ask]:
        """One call for one or more series each; those after the first for the same series are for old drivers."""
        yield Ask(
            nvml.nvmlDeviceGetUtilizationRates,
            (
                Part(gpu.UTILIZATION_RATIO, (), lambda rates: rates.gpu / _PERCENT),
                Part(gpu.MEMORY_UTILIZATION_RATIO, (), lambda rates: rates.memory / _PERCENT),
            ),
        )
        for call, family in (
            (nvml.nvmlDeviceGetEncoderUtilization, gpu.ENCODER_UTILIZATION_RATIO),
            (nvml.nvmlDeviceGetDecoderUtilization, gpu.DECODER_UTILIZATION_RATIO),
            (nvml.nvmlDeviceGetJpgUtilization, gpu.JPEG_UTILIZATION_RATIO),
            (nvml.nvmlDeviceGetOfaUtilization, gpu.OFA_UTILIZATION_RATIO),
        ):
            yield Ask(call, (Part(family, (), lambda share_and_period: share_and_period[0] / _PERCENT),))
        yield from self._of_memory(nvml)
        yield Ask(asking(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU), (Part(gpu.TEMPERATURE_CELSIUS),))
        yield Ask(nvml.nvmlDeviceGetMarginTemperature, (Part(gpu.TEMPERATURE_MARGIN_CELSIUS),))
        for domain, number in CLOCKS.items():
            yield Ask(asking(nvml.nvmlDeviceGetClockInfo, number), (Part(gpu.CLOCK_HERTZ, (domain,), hertz),))
        reasons = tuple(Part(gpu.CLOCK_EVENT_ACTIVE, (reason,), _holds(bit)) for reason, bit in _BITS.items())
        yield Ask(nvml.nvmlDeviceGetCurrentClocksEventReasons, reasons)
        yield Ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, reasons)
        yield Ask(nvml.nvmlDeviceGetPerformanceState, (Part(gpu.PERFORMANCE_STATE),))
        yield Ask(nvml.nvmlDeviceGetPowerUsage, (Part(gpu.POWER_WATTS, (), divided(_MILLI)),))
        yield Ask(nvml.nvmlDeviceGetTotalEnergyConsumption, (Part(gpu.ENERGY_JOULES, (), divided(_MILLI)),))
        yield Ask(nvml.nvmlDeviceGetPcieReplayCounter, (Part(gpuhealth.PCIE_REPLAYS),))

    @staticmethod
    def _of_memory(nvml: Any) -> Iterator[Ask]:
        parts = (
            Part(gpu.MEMORY_USED_BYTES, (), attrgetter("used")),
            Part(gpu.MEMORY_FREE_BYTES, (), attrgetter("free")),
            Part(gpu.MEMORY_TOTAL_BYTES, (), attrgetter("total")),
        )
        reserved = Part(gpu.MEMORY_RESERVED_BYTES, (), attrgetter("reserved"))
        yield Ask(asking(nvml.nvmlDeviceGetMemoryInfo, nvml.nvmlMemory_v2), (*parts, reserved))
        yield Ask(nvml.nvmlDeviceGetMemoryInfo, parts)
        yield Ask(nvml.nvmlDeviceGetBAR1MemoryInfo, (Part(gpu.BAR1_USED_BYTES, (), attrgetter("bar1Used")),))


def _holds(bit: int) -> Callable[[int], float]:
    return lambda mask: float(bool(mask & bit))
