"""What each GPU is: model, driver, firmware, where it sits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catalog.families import gpu
from catalog.family import Tier
from catalog.series import Series
from exporter.devices import numa_node
from exporter.gpus import NvmlCollector, told
from exporter.nvml import Device, sysfs_address


class GpuInfoCollector(NvmlCollector):
    """What a GPU does not tell is empty."""

    name = "gpuinfo"
    tier = Tier.STATIC
    families = (gpu.INFO,)

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """One series."""
        handle = device.handle
        address = sysfs_address(device.address)
        labels = (
            device.uuid,
            told(nvml, lambda: str(nvml.nvmlDeviceGetName(handle))),
            told(nvml, lambda: str(nvml.nvmlSystemGetDriverVersion())),
            told(nvml, lambda: "{}.{}".format(*divmod(nvml.nvmlSystemGetCudaDriverVersion_v2() // 10, 100))),
            told(nvml, lambda: str(nvml.nvmlDeviceGetVbiosVersion(handle))),
            told(nvml, lambda: str(nvml.nvmlDeviceGetSerial(handle))),
            address,
            told(nvml, lambda: ".".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(handle)))),
            numa_node(self._context.host, address),
        )
        yield gpu.INFO(device.label, *labels), 1.0
