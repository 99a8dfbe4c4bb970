"""What the parts of a GPU do, by the counters of its performance monitors (Hopper and later).

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html. A value is the mean since the sample before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.gpm import Monitor
from exporter.gpus import NvmlCollector
from exporter.nvml import SESSION, Device

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


class GpuGpmCollector(NvmlCollector):
    """A GPU without such counters has no series, nor has one cut into instances, which have their own."""

    name = "gpugpm"
    tier = Tier.GPU
    families = tuple(_METRICS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._metrics = {family: name for family, name in _METRICS.items() if context.wants(family)}
        self._monitors: dict[str, tuple[int, Monitor | None]] = {}

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One for each family; NaN until there are two samples."""
        generation, monitor = self._monitors.get(device.label, (-1, None))
        if generation != SESSION.generation:
            monitor = self._monitor(nvml, device)
            self._monitors[device.label] = SESSION.generation, monitor
        values = monitor.values(nvml) if monitor is not None else ()
        yield from zip((family(device.label) for family in self._metrics), values, strict=bool(values))

    def _monitor(self, nvml: Any, device: Device) -> Monitor | None:
        """None where the GPU has no counters."""
        try:
            supported = nvml.nvmlGpmQueryDeviceSupport(device.handle).isSupportedDevice
        except nvml.NVMLError as error:
            if not SESSION.absent(error.value):
                raise
            return None
        return Monitor(nvml, self._metrics, partial(nvml.nvmlGpmSampleGet, device.handle)) if supported else None
