"""PCI Express errors of GPUs, network cards, NVMe drives and the ports they hang on.

https://docs.kernel.org/PCI/pcieaer-howto.html, https://docs.kernel.org/ABI/testing/sysfs-bus-pci-devices-aer_stats.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.devices import PCI_DEVICES, PCI_ENDPOINTS

_TOTALS = {"correctable": b"TOTAL_ERR_COR", "nonfatal": b"TOTAL_ERR_NONFATAL", "fatal": b"TOTAL_ERR_FATAL"}
_CLASSES = (*PCI_ENDPOINTS, "0x0604")  # and bridges between PCI buses


def _total(key: bytes, data: bytes) -> float:
    """The number behind a key; ValueError where there is none.

    >>> _total(b"TOTAL_ERR_COR", b"RxErr 1\\nTOTAL_ERR_COR 1\\n")
    1.0
    """
    for line in data.splitlines():
        name, _, count = line.partition(b" ")
        if name == key:
            return float(count)
    raise ValueError(f"no line {key.decode()}")


class AerCollector(AttributeCollector):
    """Devices whose errors the kernel handles; where the firmware does, there are no files."""

    name = "aer"
    tier = Tier.SLOW
    families = (host.PCIE_AER_ERRORS,)
    sources = (f"{PCI_DEVICES}/*/class", *(f"{PCI_DEVICES}/*/aer_dev_{severity}" for severity in _TOTALS))
    absent = "no PCI device whose errors the kernel handles"
    watches = (PCI_DEVICES,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Three files a device."""
        for device in context.host.glob(f"{PCI_DEVICES}/*"):
            if not context.host.text(f"{device}/class", "").startswith(_CLASSES):
                continue
            address = device.rpartition("/")[2]
            for severity, key in _TOTALS.items():
                series = host.PCIE_AER_ERRORS(address, severity)
                yield Attribute(f"{device}/aer_dev_{severity}", series, convert=partial(_total, key))
