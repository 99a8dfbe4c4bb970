"""How each GPU is set up: what differs between GPUs of one host is a mistake, mostly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.gpus import NvmlCollector, told
from exporter.nvml import Device

_COMPUTE = {0: "default", 2: "prohibited", 3: "exclusive_process"}


class GpuModeCollector(NvmlCollector):
    """What a GPU does not tell is empty."""

    name = "gpumode"
    tier = Tier.SLOW
    families = (gpu.MODE_INFO,)

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One series."""
        handle = device.handle

        def switch(call: Callable[[], int]) -> str:
            return told(nvml, lambda: "on" if call() else "off")

        labels = (
            told(nvml, lambda: _COMPUTE.get(nvml.nvmlDeviceGetComputeMode(handle), "other")),
            switch(lambda: nvml.nvmlDeviceGetPersistenceMode(handle)),
            switch(lambda: nvml.nvmlDeviceGetEccMode(handle)[0]),
            switch(lambda: nvml.nvmlDeviceGetMigMode(handle)[0]),
            switch(lambda: nvml.nvmlDeviceGetGspFirmwareMode(handle)[0]),
            switch(lambda: nvml.nvmlSystemGetConfComputeState().ccFeature),
        )
        yield gpu.MODE_INFO(device.label, *labels), 1.0
