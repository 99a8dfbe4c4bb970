"""Kernel, distribution, product and firmware.

https://docs.kernel.org/admin-guide/sysctl/kernel.html,
https://www.freedesktop.org/software/systemd/man/latest/os-release.html
"""

from __future__ import annotations

from catalog.families import host
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector

_KERNEL = "/proc/sys/kernel"
_DMI = "/sys/class/dmi/id"
_HYPERVISOR = "/sys/hypervisor/type"
_CPUINFO = "/proc/cpuinfo"
_RELEASES = ("/etc/os-release", "/usr/lib/os-release")


class HostinfoCollector(ConstantCollector):
    """Parts that a host does not tell are empty; a virtual machine that does not say of which kind is ``unknown``."""

    name = "hostinfo"
    tier = Tier.STATIC
    families = (host.INFO,)
    sources = (
        f"{_KERNEL}/hostname",
        f"{_KERNEL}/osrelease",
        *_RELEASES,
        f"{_DMI}/sys_vendor",
        f"{_DMI}/product_name",
        f"{_DMI}/bios_version",
        _HYPERVISOR,
        _CPUINFO,
    )

    def constants(self, context: Context) -> tuple[Series]:
        """One series."""
        text = context.host.text
        vendor, product, bios = (text(f"{_DMI}/{file}", "") for file in ("sys_vendor", "product_name", "bios_version"))
        system = next(filter(None, (_pretty_name(text(path, "")) for path in _RELEASES)), "")
        guest = " hypervisor" in text(_CPUINFO, "")
        return (
            host.INFO(
                text(f"{_KERNEL}/hostname", ""),
                text(f"{_KERNEL}/osrelease", ""),
                system,
                vendor,
                product,
                bios,
                text(_HYPERVISOR, "unknown" if guest else ""),
            ),
        )


def _pretty_name(release: str) -> str:
    """The name for people in an os-release file.

    >>> _pretty_name('ID=debian\\nPRETTY_NAME="Debian 12"')
    'Debian 12'
    """
    pairs = (line.partition("=") for line in release.splitlines())
    return next((value.strip("\"'") for key, _, value in pairs if key == "PRETTY_NAME"), "")
