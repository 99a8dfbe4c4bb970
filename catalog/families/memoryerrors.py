"""Families of memory that fails: errors by controller and module, pages taken out of use.

Formats: https://docs.kernel.org/admin-guide/RAS/main.html, https://docs.kernel.org/ABI/stable/sysfs-devices-node.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _edac(name: str, file: str, help_text: str) -> Family:
    """An error counter of a memory controller."""
    return Family(
        name,
        Kind.COUNTER,
        Unit.COUNT,
        help_text,
        Subsystem.MEMORY,
        ("controller",),
        Tier.SLOW,
        source=f"/sys/devices/system/edac/mc/mc*/{file}",
        aliases=(Alias("node_edac_" + name.removeprefix("hostpulse_memory_edac_")),),
    )


EDAC_CORRECTABLE_ERRORS = _edac(
    "hostpulse_memory_edac_correctable_errors_total",
    "ce_count",
    "Memory errors that the controller corrected; a rising rate announces a failing module.",
)
EDAC_UNCORRECTABLE_ERRORS = _edac(
    "hostpulse_memory_edac_uncorrectable_errors_total",
    "ue_count",
    "Memory errors that could not be corrected: data was lost.",
)


def _module(name: str, file: str, help_text: str, profile: Profile) -> Family:
    """An error counter of a memory module."""
    return Family(
        f"hostpulse_memory_edac_dimm_{name}_errors_total",
        Kind.COUNTER,
        Unit.COUNT,
        help_text,
        Subsystem.MEMORY,
        ("controller", "dimm", "label"),
        Tier.SLOW,
        profile,
        f"/sys/devices/system/edac/mc/mc*/{{dimm,rank}}*/{file}",
    )


EDAC_DIMM_CORRECTABLE_ERRORS = _module(
    "correctable",
    "dimm_ce_count",
    "Memory errors that were corrected on one module: the one to replace.",
    Profile.STANDARD,
)
EDAC_DIMM_UNCORRECTABLE_ERRORS = _module(
    "uncorrectable",
    "dimm_ue_count",
    "Memory errors of one module that could not be corrected, where the controller knows which module it was.",
    Profile.FULL,
)
EDAC_DIMM_INFO = Family(
    "hostpulse_memory_edac_dimm_info",
    Kind.INFO,
    Unit.NONE,
    "What each memory module is: its place, its kind, how its errors are corrected, and the controller's driver.",
    Subsystem.MEMORY,
    ("controller", "dimm", "label", "location", "type", "mode", "driver"),
    Tier.STATIC,
    Profile.FULL,
    "/sys/devices/system/edac/mc/mc*/mc_name, {dimm,rank}*/dimm_{label,location,mem_type,edac_mode}",
)
FAILURE_PAGES = Family(
    "hostpulse_memory_failure_pages_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Pages of each NUMA node that hardware errors poisoned, by how their recovery ended.",
    Subsystem.MEMORY,
    ("node", "result"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/devices/system/node/node*/memory_failure/{recovered,delayed,ignored,failed}",
)
