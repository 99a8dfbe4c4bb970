"""Families of the instances of partitioned GPUs: what each of them does, by the GPU's performance monitors.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html
"""

from __future__ import annotations

from catalog.families.gpu import gpu_family
from catalog.family import Family, Profile, Unit


def _gpm(name: str, help_text: str, metric: str) -> Family:
    source = f"nvmlGpmMigSampleGet, NVML_GPM_METRIC_{metric}"
    labels = ("gpu_instance",)
    return gpu_family(f"mig_{name}", Unit.RATIO, help_text, source, labels=labels, profile=Profile.STANDARD)


MIG_GRAPHICS_ACTIVE_RATIO = _gpm(
    "graphics_active_ratio", "Share of time in which an instance had work of any kind.", "GRAPHICS_UTIL"
)
MIG_SM_ACTIVE_RATIO = _gpm(
    "sm_active_ratio", "Share of an instance's multiprocessors that had work, over time.", "SM_UTIL"
)
MIG_SM_OCCUPANCY_RATIO = _gpm(
    "sm_occupancy_ratio", "Warps on an instance's multiprocessors, of those that fit.", "SM_OCCUPANCY"
)
MIG_TENSOR_ACTIVE_RATIO = _gpm(
    "tensor_active_ratio", "Share of time in which an instance's tensor cores worked.", "ANY_TENSOR_UTIL"
)
MIG_DRAM_ACTIVE_RATIO = _gpm(
    "dram_active_ratio", "Bandwidth of an instance's memory in use, of its highest.", "DRAM_BW_UTIL"
)
