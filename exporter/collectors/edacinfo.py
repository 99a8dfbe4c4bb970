"""What memory modules are, as the driver of their controller tells it.

https://docs.kernel.org/admin-guide/RAS/main.html#dimm-directories
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import memoryerrors
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector

_CONTROLLERS = "/sys/devices/system/edac/mc/mc[0-9]*"
_MODULES = ("dimm", "rank")  # a controller has either: ranks where its driver cannot tell modules
_FILES = ("dimm_label", "dimm_location", "dimm_mem_type", "dimm_edac_mode")


class EdacinfoCollector(ConstantCollector):
    """What a driver does not say is empty."""

    name = "edacinfo"
    tier = Tier.STATIC
    families = (memoryerrors.EDAC_DIMM_INFO,)
    sources = (
        f"{_CONTROLLERS}/mc_name",
        *(f"{_CONTROLLERS}/{kind}*/{file}" for kind in _MODULES for file in _FILES),
    )

    def constants(self, context: Context) -> Iterator[Series]:
        """One series a module."""
        host = context.host
        for controller in host.glob(_CONTROLLERS):
            number, driver = controller.rpartition("/mc")[2], host.text(f"{controller}/mc_name", "")
            for kind in _MODULES:
                for module in host.glob(f"{controller}/{kind}[0-9]*"):
                    told = (host.text(f"{module}/{file}", "") for file in _FILES)
                    yield memoryerrors.EDAC_DIMM_INFO(number, module.rpartition(f"/{kind}")[2], *told, driver)
