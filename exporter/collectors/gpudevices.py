"""How many GPUs there are: as plugged in, and as the driver finds them.

https://docs.kernel.org/PCI/sysfs-pci.html
"""

from __future__ import annotations

from collections.abc import Sequence

from catalog.families import gpu
from catalog.family import Tier
from exporter.collector import Context
from exporter.gpus import NvmlCollector
from exporter.nvml import SESSION, nvidia_gpus


class GpuDevicesCollector(NvmlCollector):
    """Inside a container the bus may show GPUs that the container was not given."""

    name = "gpudevices"
    tier = Tier.SLOW
    families = (gpu.DEVICES,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.series = (gpu.DEVICES("nvml"), gpu.DEVICES("pci"))

    def read(self) -> Sequence[float]:
        """Two counts."""
        with SESSION.calling():
            answering = sum(device.handle is not None for device in SESSION.devices)
        return [float(answering), float(len(nvidia_gpus(self._context.host)))]
