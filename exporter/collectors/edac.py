"""Errors that memory controllers corrected, on which module, and those they could not.

https://docs.kernel.org/admin-guide/RAS/main.html#system-controller-attributes,
https://docs.kernel.org/ABI/testing/sysfs-devices-edac.html
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import memoryerrors
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/devices/system/edac/mc"
_FILES = {
    "ce_count": memoryerrors.EDAC_CORRECTABLE_ERRORS,
    "ue_count": memoryerrors.EDAC_UNCORRECTABLE_ERRORS,
}
_MODULE_FILES = {
    "dimm_ce_count": memoryerrors.EDAC_DIMM_CORRECTABLE_ERRORS,
    "dimm_ue_count": memoryerrors.EDAC_DIMM_UNCORRECTABLE_ERRORS,
}
_MODULES = ("dimm", "rank")  # a controller has either: ranks where its driver cannot tell modules


class EdacCollector(AttributeCollector):
    """Two files a controller and two a module, which is called what the board's maker or an administrator says."""

    name = "edac"
    tier = Tier.SLOW
    families = (*_FILES.values(), *_MODULE_FILES.values())
    sources = (
        *(f"{_DIRECTORY}/mc*/{file}" for file in _FILES),
        *(f"{_DIRECTORY}/mc*/{kind}*/{file}" for kind in _MODULES for file in (*_MODULE_FILES, "dimm_label")),
    )
    absent = "no driver for the memory controller is loaded"
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """Errors since the driver was loaded."""
        for controller in context.host.glob(f"{_DIRECTORY}/mc[0-9]*"):
            number = controller.rpartition("/mc")[2]
            for file, family in _FILES.items():
                yield Attribute(f"{controller}/{file}", family(number))
            yield from self._modules(context, controller, number)

    def _modules(self, context: Context, controller: str, number: str) -> Iterator[Attribute]:
        files = {file: family for file, family in _MODULE_FILES.items() if context.wants(family)}
        for kind in _MODULES if files else ():
            for module in context.host.glob(f"{controller}/{kind}[0-9]*"):
                label = context.host.text(f"{module}/dimm_label", "")
                for file, family in files.items():
                    yield Attribute(f"{module}/{file}", family(number, module.rpartition(f"/{kind}")[2], label))
