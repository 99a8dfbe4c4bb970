"""Instances of partitioned GPUs: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.gpus import NvmlCollector, instances
from exporter.nvml import Device


class GpuMigCollector(NvmlCollector):
    """Instances come and go. Compute instances of one GPU instance share its memory, which counts once."""

    name = "gpumig"
    tier = Tier.SLOW
    families = (gpu.MIG_INFO, gpu.MIG_MEMORY_USED_BYTES, gpu.MIG_MEMORY_TOTAL_BYTES)

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """Nothing where a GPU is whole."""
        for handle in instances(nvml, device.handle):
            instance = str(nvml.nvmlDeviceGetGpuInstanceId(handle))
            compute = str(nvml.nvmlDeviceGetComputeInstanceId(handle))
            profile = nvml.nvmlDeviceGetName(handle).rpartition("MIG ")[2]
            yield gpu.MIG_INFO(device.label, instance, compute, profile, nvml.nvmlDeviceGetUUID(handle)), 1.0
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
            yield gpu.MIG_MEMORY_USED_BYTES(device.label, instance), float(memory.used)
            yield gpu.MIG_MEMORY_TOTAL_BYTES(device.label, instance), float(memory.total)
