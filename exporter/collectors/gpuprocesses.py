"""Memory that processes hold on each GPU.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.gpus import NvmlCollector
from exporter.nvml import SESSION, Device


class GpuProcessesCollector(NvmlCollector):
    """Processes come and go, in several instances of a partitioned GPU too; those of other users may be kept secret."""

    name = "gpuprocesses"
    tier = Tier.SLOW
    families = (gpu.PROCESS_MEMORY_BYTES,)

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One series a process, which counts once when it computes and draws."""
        drawing = _held(nvml, nvml.nvmlDeviceGetGraphicsRunningProcesses_v3, device.handle)
        computing = _held(nvml, nvml.nvmlDeviceGetComputeRunningProcesses_v3, device.handle)
        for pid, held_bytes in sorted((drawing | computing).items()):
            yield gpu.PROCESS_MEMORY_BYTES(device.label, pid), held_bytes


def _held(nvml: Any, call: Any, handle: Any) -> dict[int, float]:
    """Bytes by process, those of all instances together; nothing where the GPU or the driver does not tell."""
    try:
        processes = call(handle)
    except nvml.NVMLError as error:
        if not SESSION.absent(error.value):
            raise
        return {}
    held: dict[int, float] = {}
    for process in processes:
        part_bytes = nan if process.usedGpuMemory is None else float(process.usedGpuMemory)
        held[process.pid] = held.get(process.pid, 0.0) + part_bytes
    return held
