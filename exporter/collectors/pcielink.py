"""Speed and width of the PCI Express links of GPUs, network cards and NVMe drives.

https://docs.kernel.org/ABI/testing/sysfs-bus-pci.html; texts of speeds are those of pci_speed_string in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/pci/probe.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from catalog.families import host
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.devices import PCI_DEVICES, PCI_ENDPOINTS

_SPEED, _WIDTH = "current_link_speed", "current_link_width"
_SAID = re.compile(rb"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?\n?")
_NO_SPEED, _NO_LANES = "Unknown", "0"
_GIGA = 1e9


def _transfers(data: bytes) -> float:
    """Thousands of millions of transfers per second; ValueError for ``Unknown``.

    >>> _transfers(b"16.0 GT/s PCIe\\n")
    16.0
    """
    said = _SAID.fullmatch(data)
    if said is None:
        raise ValueError(f"{data[:40]!r} is no speed of a link")
    return float(said[1])


class PcielinkCollector(AttributeCollector):
    """Two files a device. Those that hang on no link, as in virtual machines, say so at once."""

    name = "pcielink"
    tier = Tier.SLOW
    families = (host.PCIE_LINK_SPEED_TRANSFERS_PER_SECOND, host.PCIE_LINK_WIDTH)
    sources = tuple(f"{PCI_DEVICES}/*/{file}" for file in ("class", _SPEED, _WIDTH))
    absent = "no GPU, network card or NVMe drive on PCI Express"
    watches = (PCI_DEVICES,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The links that are up when the devices are looked for."""
        for device in context.host.glob(f"{PCI_DEVICES}/*"):
            if not context.host.text(f"{device}/class", "").startswith(PCI_ENDPOINTS):
                continue
            speed, width = (context.host.text(f"{device}/{file}", "") for file in (_SPEED, _WIDTH))
            if speed == _NO_SPEED or width == _NO_LANES:
                continue
            address = device.rpartition("/")[2]
            yield Attribute(f"{device}/{_SPEED}", host.PCIE_LINK_SPEED_TRANSFERS_PER_SECOND(address), _GIGA, _transfers)
            yield Attribute(f"{device}/{_WIDTH}", host.PCIE_LINK_WIDTH(address))
