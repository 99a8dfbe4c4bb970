"""What the parts of a GPU do, by the counters of its performance monitors (Hopper and later).

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html. A value is the mean since the sample before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from time import monotonic_ns
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.gpus import NvmlCollector
from exporter.nvml import SESSION, Device

_PERCENT = 100.0
_LEAST_US = 100_000  # as often as the driver itself looks
_METRICS = {
    gpu.GRAPHICS_ACTIVE_RATIO: "GRAPHICS_UTIL",
    gpu.SM_ACTIVE_RATIO: "SM_UTIL",
    gpu.SM_OCCUPANCY_RATIO: "SM_OCCUPANCY",
    gpu.TENSOR_ACTIVE_RATIO: "ANY_TENSOR_UTIL",
    gpu.DRAM_ACTIVE_RATIO: "DRAM_BW_UTIL",
    gpu.FP32_ACTIVE_RATIO: "FP32_UTIL",
    gpu.FP16_ACTIVE_RATIO: "FP16_UTIL",
    gpu.TENSOR_HMMA_ACTIVE_RATIO: "HMMA_TENSOR_UTIL",
    gpu.FP64_ACTIVE_RATIO: "FP64_UTIL",
    gpu.INTEGER_ACTIVE_RATIO: "INTEGER_UTIL",
}


@dataclass(slots=True)
class _Monitor:
    """Two samples of one GPU, the newer of them first."""

    generation: int
    samples: list[Any]
    taken_us: int = 0
    values: tuple[float, ...] = ()


class GpuGpmCollector(NvmlCollector):
    """A GPU without such counters, or cut into instances, has no series."""

    name = "gpugpm"
    tier = Tier.GPU
    families = tuple(_METRICS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._families = tuple(filter(context.wants, self.families))
        self._monitors: dict[str, _Monitor] = {}

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One for each family; NaN until there are two samples."""
        monitor = self._monitors.get(device.label)
        if monitor is None or monitor.generation != SESSION.generation:
            monitor = self._monitors[device.label] = _monitor(nvml, device)
        if not monitor.samples:
            return
        self._sample(nvml, device, monitor)
        yield from zip((family(device.label) for family in self._families), monitor.values, strict=True)

    def _sample(self, nvml: Any, device: Device, monitor: _Monitor) -> None:
        now_us = monotonic_ns() // 1000
        if monitor.taken_us and now_us - monitor.taken_us < _LEAST_US:
            return
        newer, older = monitor.samples
        try:
            nvml.nvmlGpmSampleGet(device.handle, older)
        except nvml.NVMLError as error:
            if SESSION.absent(error.value):
                monitor.samples = []
            raise
        monitor.samples = [older, newer]
        if monitor.taken_us:
            monitor.values = tuple(self._metrics(nvml, newer, older))
        else:
            monitor.values = (nan,) * len(self._families)
        monitor.taken_us = now_us

    def _metrics(self, nvml: Any, before: Any, after: Any) -> Iterator[float]:
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, len(self._families)
        asked.sample1, asked.sample2 = before, after
        for metric, family in zip(asked.metrics, self._families, strict=False):
            metric.metricId = getattr(nvml, f"NVML_GPM_METRIC_{_METRICS[family]}")
        nvml.nvmlGpmMetricsGet(asked)
        for metric in asked.metrics[: len(self._families)]:
            yield nan if metric.nvmlReturn else metric.value / _PERCENT


def _monitor(nvml: Any, device: Device) -> _Monitor:
    """Without samples where the GPU has no counters."""
    try:
        if nvml.nvmlGpmQueryDeviceSupport(device.handle).isSupportedDevice:
            return _Monitor(SESSION.generation, [nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()])
    except nvml.NVMLError as error:
        if not SESSION.absent(error.value):
            raise
    return _Monitor(SESSION.generation, [])
