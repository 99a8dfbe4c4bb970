"""Errors that memory controllers corrected, and those they could not.

https://docs.kernel.org/admin-guide/RAS/main.html#system-controller-attributes
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import memory
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/devices/system/edac/mc"
_FILES = {"ce_count": memory.EDAC_CORRECTABLE_ERRORS, "ue_count": memory.EDAC_UNCORRECTABLE_ERRORS}


class EdacCollector(AttributeCollector):
    """Two files a controller."""

    name = "edac"
    tier = Tier.SLOW
    families = tuple(_FILES.values())
    sources = tuple(f"{_DIRECTORY}/mc*/{file}" for file in _FILES)
    absent = "no driver for the memory controller is loaded"
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Errors since the driver was loaded."""
        for controller in context.host.glob(f"{_DIRECTORY}/mc[0-9]*"):
            for file, family in _FILES.items():
                yield Attribute(f"{controller}/{file}", family(controller.rpartition("/mc")[2]))
