"""What wears out and breaks in GPUs, and what bounds them: links, memory errors, limits, processes.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref
from operator import attrgetter
from typing import Any

from catalog.families import gpu, gpuhealth
from catalog.family import Tier
from exporter.gpus import CLOCKS, Ask, Field, GpuCollector, Part, asking, divided, hertz

_MILLI, _PERCENT = 1e3, 100.0
_LIMITS = {"current": "CURRENT", "requested": "REQUESTED", "default": "DEFAULT", "min": "MIN", "max": "MAX"}
_PCIE_ERRORS = (
    *("CORRECTABLE_ERRORS", "NAKS_RECEIVED", "NAKS_SENT", "RECEIVER_ERROR", "BAD_TLP", "BAD_DLLP"),
    *("NON_FATAL_ERROR", "FATAL_ERROR", "LANE_ERROR", "LCRC_ERROR", "UNSUPPORTED_REQ"),
)
_NVLINK_ERRORS = ("CRC_FLIT", "CRC_DATA", "REPLAY", "RECOVERY", "ECC_DATA")
_SEVERITIES = {"corrected": "SBE", "uncorrected": "DBE"}
_LOCATIONS = {"sram": 7, "dram": 2}  # NVML_MEMORY_LOCATION_…
_MOST_FANS = 4
_BANKS = ("max", "high", "partial", "low", "none")


class GpuHealthCollector(GpuCollector):
    """What changes seldom, and calls that take milliseconds."""

    name = "gpuhealth"
    tier = Tier.SLOW
    fields = (
        *(Field(f"POWER_{name}_LIMIT", gpu.POWER_LIMIT_WATTS, (limit,), _MILLI) for limit, name in _LIMITS.items()),
        *(Field(f"PCIE_COUNT_{name}", gpuhealth.PCIE_ERRORS, (name.lower(),)) for name in _PCIE_ERRORS),
        *(
            Field(f"NVLINK_{name}_ERROR_COUNT_TOTAL", gpuhealth.NVLINK_ERRORS, (name.lower(),))
            for name in _NVLINK_ERRORS
        ),
        *(
            Field(f"ECC_{name}_VOL_TOTAL", gpuhealth.ECC_ERRORS, (severity, "total"))
            for severity, name in _SEVERITIES.items()
        ),
        *(
            Field(f"ECC_{name}_AGG_TOTAL", gpuhealth.ECC_ERRORS_AGGREGATE, (severity, "total"))
            for severity, name in _SEVERITIES.items()
        ),
        Field("REMAPPED_COR", gpuhealth.REMAPPED_ROWS, ("corrected",)),
        Field("REMAPPED_UNC", gpuhealth.REMAPPED_ROWS, ("uncorrected",)),
        Field("REMAPPED_PENDING", gpuhealth.REMAPPED_ROWS_PENDING),
        Field("REMAPPED_FAILURE", gpuhealth.ROW_REMAP_FAILURE),
        Field("RETIRED_SBE", gpuhealth.RETIRED_PAGES, ("corrected",)),
        Field("RETIRED_DBE", gpuhealth.RETIRED_PAGES, ("uncorrected",)),
        Field("RETIRED_PENDING", gpuhealth.RETIRED_PAGES_PENDING),
        Field("GET_GPU_RECOVERY_ACTION", gpuhealth.RECOVERY_ACTION),
    )
    families = tuple(
        dict.fromkeys(
            (
                *(field.family for field in fields),
                gpu.CLOCK_MAX_HERTZ,
                gpu.BAR1_TOTAL_BYTES,
                gpu.FAN_SPEED_RATIO,
                gpu.PROCESSES,
                gpuhealth.PCIE_LINK_GENERATION,
                gpuhealth.PCIE_LINK_WIDTH,
                gpuhealth.NVLINK_ACTIVE_LINKS,
                gpuhealth.FABRIC_STATE,
                gpuhealth.ROW_REMAP_BANKS,
            )
        )
    )

    def asks(self, nvml: Any) -> Iterator[Ask]:
        """One call for one or more series each; those after the first for the same series are for old drivers."""
        for domain, number in CLOCKS.items():
            yield Ask(
                asking(nvml.nvmlDeviceGetMaxClockInfo, number),
                (Part(gpu.CLOCK_MAX_HERTZ, (domain,), hertz),),
            )
        yield Ask(
            nvml.nvmlDeviceGetEnforcedPowerLimit,
            (Part(gpu.POWER_LIMIT_WATTS, ("current",), divided(_MILLI)),),
        )
        yield Ask(nvml.nvmlDeviceGetCurrPcieLinkGeneration, (Part(gpuhealth.PCIE_LINK_GENERATION, ("current",)),))
        yield Ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, (Part(gpuhealth.PCIE_LINK_GENERATION, ("max",)),))
        yield Ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, (Part(gpuhealth.PCIE_LINK_WIDTH, ("current",)),))
        yield Ask(nvml.nvmlDeviceGetMaxPcieLinkWidth, (Part(gpuhealth.PCIE_LINK_WIDTH, ("max",)),))
        yield from self._of_memory(nvml)
        yield from self._of_the_rest(nvml)

    @staticmethod
    def _of_memory(nvml: Any) -> Iterator[Ask]:
        counted = ((gpuhealth.ECC_ERRORS, 0), (gpuhealth.ECC_ERRORS_AGGREGATE, 1))  # volatile, aggregate
        for family, counter in counted:
            for kind, severity in enumerate(_SEVERITIES):
                for location, place in _LOCATIONS.items():
                    yield Ask(
                        asking(nvml.nvmlDeviceGetMemoryErrorCounter, kind, counter, place),
                        (Part(family, (severity, location)),),
                    )
        yield Ask(
            nvml.nvmlDeviceGetRowRemapperHistogram,
            tuple(Part(gpuhealth.ROW_REMAP_BANKS, (left,), attrgetter(left)) for left in _BANKS),
        )
        yield Ask(nvml.nvmlDeviceGetBAR1MemoryInfo, (Part(gpu.BAR1_TOTAL_BYTES, (), attrgetter("bar1Total")),))

    @staticmethod
    def _of_the_rest(nvml: Any) -> Iterator[Ask]:
        for fan in range(_MOST_FANS):
            yield Ask(
                asking(nvml.nvmlDeviceGetFanSpeed_v2, fan), (Part(gpu.FAN_SPEED_RATIO, (str(fan),), divided(_PERCENT)),)
            )
        for use, call in (
            ("compute", nvml.nvmlDeviceGetComputeRunningProcesses_v3),
            ("graphics", nvml.nvmlDeviceGetGraphicsRunningProcesses_v3),
        ):
            yield Ask(call, (Part(gpu.PROCESSES, (use,), lambda processes: float(len(processes))),))

        def active_links(handle: Any) -> int:
            """NVLinks that are up; the error of the first one where none can be asked."""
            up, refusal = [], None
            for link in range(nvml.NVML_NVLINK_MAX_LINKS):
                try:
                    up.append(nvml.nvmlDeviceGetNvLinkState(handle, link))
                except nvml.NVMLError as error:
                    refusal = refusal or error
            if not up and refusal is not None:
                raise refusal
            return sum(up)

        def fabric(handle: Any) -> int:
            info = nvml.c_nvmlGpuFabricInfoV_t()
            nvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(info))
            return int(info.state)

        yield Ask(active_links, (Part(gpuhealth.NVLINK_ACTIVE_LINKS),))
        yield Ask(fabric, (Part(gpuhealth.FABRIC_STATE),))
