"""What the instances of partitioned GPUs do, of which the driver tells no other use (Hopper and later).

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html. A value is the mean since the sample before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from catalog.families import mig
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.gpm import Monitor
from exporter.gpus import NvmlCollector, instances
from exporter.nvml import Device

_METRICS = {
    mig.MIG_GRAPHICS_ACTIVE_RATIO: "GRAPHICS_UTIL",
    mig.MIG_SM_ACTIVE_RATIO: "SM_UTIL",
    mig.MIG_SM_OCCUPANCY_RATIO: "SM_OCCUPANCY",
    mig.MIG_TENSOR_ACTIVE_RATIO: "ANY_TENSOR_UTIL",
    mig.MIG_DRAM_ACTIVE_RATIO: "DRAM_BW_UTIL",
}


class GpuMigGpmCollector(NvmlCollector):
    """Compute instances of one GPU instance share its counters. Nothing where a GPU is whole."""

    name = "gpumiggpm"
    tier = Tier.GPU
    families = tuple(_METRICS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._monitors: dict[str, dict[int, Monitor]] = {}

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One for each family and instance; NaN until there are two samples."""
        there = sorted({nvml.nvmlDeviceGetGpuInstanceId(handle) for handle in instances(nvml, device.handle)})
        monitors = self._monitors.setdefault(device.label, {})
        for number in [number for number, one in monitors.items() if number not in there or one.outdated]:
            monitors.pop(number).close(nvml)
        for number in there:
            if number not in monitors:
                take = partial(nvml.nvmlGpmMigSampleGet, device.handle, number)
                monitors[number] = Monitor(nvml, _METRICS, take)
            values = monitors[number].values(nvml)
            yield from zip((family(device.label, number) for family in _METRICS), values, strict=bool(values))
