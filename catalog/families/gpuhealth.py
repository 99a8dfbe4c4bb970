"""GPU families of what wears out and breaks: links, memory, and what the driver reports as broken.

What the fields mean: https://docs.nvidia.com/deploy/nvml-api/; how rows are remapped:
https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
"""

from __future__ import annotations

from catalog.families.gpu import dcgm, gpu_family
from catalog.family import Profile, Tier, Unit

_FIELDS = "nvmlDeviceGetFieldValues NVML_FI_DEV"

PCIE_RECEIVE_BYTES = gpu_family(
    "pcie_receive_bytes_total", Unit.BYTES, "Bytes received over PCI Express.", f"{_FIELDS}_PCIE_COUNT_RX_BYTES"
)
PCIE_TRANSMIT_BYTES = gpu_family(
    "pcie_transmit_bytes_total", Unit.BYTES, "Bytes sent over PCI Express.", f"{_FIELDS}_PCIE_COUNT_TX_BYTES"
)
PCIE_REPLAYS = gpu_family(
    "pcie_replays_total",
    Unit.COUNT,
    "Packets that PCI Express had to send again: a bad slot, riser or board.",
    f"{_FIELDS}_PCIE_REPLAY_COUNTER, else nvmlDeviceGetPcieReplayCounter",
    dcgm("DEV_PCIE_REPLAY_COUNTER"),
)
PCIE_ERRORS = gpu_family(
    "pcie_errors_total",
    Unit.COUNT,
    "Errors of PCI Express by kind.",
    f"{_FIELDS}_PCIE_COUNT_CORRECTABLE_ERRORS, …NAKS_RECEIVED, …RECEIVER_ERROR, …BAD_TLP, …FATAL_ERROR and others",
    labels=("error",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
PCIE_LINK_GENERATION = gpu_family(
    "pcie_link_generation",
    Unit.COUNT,
    "Generation of PCI Express: as trained (current), and the highest that GPU and slot allow (max).",
    "nvmlDeviceGetCurrPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkGeneration",
    dcgm("DEV_PCIE_LINK_GEN", which="current"),
    dcgm("DEV_PCIE_MAX_LINK_GEN", which="max"),
    labels=("which",),
    tier=Tier.SLOW,
)
PCIE_LINK_WIDTH = gpu_family(
    "pcie_link_width",
    Unit.COUNT,
    "Lanes of PCI Express: as trained (current), and the most that GPU and slot allow (max).",
    "nvmlDeviceGetCurrPcieLinkWidth, nvmlDeviceGetMaxPcieLinkWidth",
    dcgm("DEV_PCIE_LINK_WIDTH", which="current"),
    dcgm("DEV_PCIE_MAX_LINK_WIDTH", which="max"),
    labels=("which",),
    tier=Tier.SLOW,
)

NVLINK_RECEIVE_BYTES = gpu_family(
    "nvlink_receive_bytes_total",
    Unit.BYTES,
    "Bytes received over all NVLinks, without what the protocol adds.",
    f"{_FIELDS}_NVLINK_THROUGHPUT_DATA_RX",
)
NVLINK_TRANSMIT_BYTES = gpu_family(
    "nvlink_transmit_bytes_total",
    Unit.BYTES,
    "Bytes sent over all NVLinks, without what the protocol adds.",
    f"{_FIELDS}_NVLINK_THROUGHPUT_DATA_TX",
)
NVLINK_ERRORS = gpu_family(
    "nvlink_errors_total",
    Unit.COUNT,
    "Errors of all NVLinks by kind.",
    f"{_FIELDS}_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, …CRC_DATA…, …REPLAY…, …RECOVERY…, …ECC_DATA…",
    dcgm("DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", error="crc_flit"),
    dcgm("DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", error="crc_data"),
    dcgm("DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", error="replay"),
    dcgm("DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", error="recovery"),
    labels=("error",),
    tier=Tier.SLOW,
)
NVLINK_ACTIVE_LINKS = gpu_family(
    "nvlink_active_links",
    Unit.COUNT,
    "NVLinks that are up.",
    "nvmlDeviceGetNvLinkState",
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
FABRIC_STATE = gpu_family(
    "fabric_state",
    Unit.ENUM,
    "Registration with the NVSwitch fabric: 0 not supported, 1 not started, 2 in progress, 3 completed.",
    "nvmlDeviceGetGpuFabricInfoV",
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)

_ECC = "nvmlDeviceGetMemoryErrorCounter SRAM, DRAM"
ECC_ERRORS = gpu_family(
    "ecc_errors_total",
    Unit.COUNT,
    "Memory errors since the driver was loaded, corrected or not, by where; total is all of them.",
    f"{_FIELDS}_ECC_SBE_VOL_TOTAL, …DBE_VOL_TOTAL; {_ECC} volatile",
    dcgm("DEV_ECC_SBE_VOL_TOTAL", severity="corrected", location="total"),
    dcgm("DEV_ECC_DBE_VOL_TOTAL", severity="uncorrected", location="total"),
    labels=("severity", "location"),
    tier=Tier.SLOW,
)
ECC_ERRORS_AGGREGATE = gpu_family(
    "ecc_errors_aggregate_total",
    Unit.COUNT,
    "Memory errors in the life of the GPU, corrected or not, by where; total is all of them.",
    f"{_FIELDS}_ECC_SBE_AGG_TOTAL, …DBE_AGG_TOTAL; {_ECC} aggregate",
    dcgm("DEV_ECC_SBE_AGG_TOTAL", severity="corrected", location="total"),
    dcgm("DEV_ECC_DBE_AGG_TOTAL", severity="uncorrected", location="total"),
    labels=("severity", "location"),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
REMAPPED_ROWS = gpu_family(
    "remapped_rows",
    Unit.COUNT,
    "Rows of memory that were replaced by spare ones, by the severity of their errors.",
    f"{_FIELDS}_REMAPPED_COR, …UNC",
    dcgm("DEV_CORRECTABLE_REMAPPED_ROWS", severity="corrected"),
    dcgm("DEV_UNCORRECTABLE_REMAPPED_ROWS", severity="uncorrected"),
    labels=("severity",),
    tier=Tier.SLOW,
)
REMAPPED_ROWS_PENDING = gpu_family(
    "remapped_rows_pending",
    Unit.BOOLEAN,
    "Whether a reset of the GPU is needed to replace rows (1).",
    f"{_FIELDS}_REMAPPED_PENDING",
    dcgm("DEV_ROW_REMAP_PENDING"),
    tier=Tier.SLOW,
)
ROW_REMAP_FAILURE = gpu_family(
    "row_remap_failure",
    Unit.BOOLEAN,
    "Whether no spare row was left for a bad one (1): the GPU is to be replaced.",
    f"{_FIELDS}_REMAPPED_FAILURE",
    dcgm("DEV_ROW_REMAP_FAILURE"),
    tier=Tier.SLOW,
)
ROW_REMAP_BANKS = gpu_family(
    "row_remap_banks",
    Unit.COUNT,
    "Banks of memory by how many spare rows they have left.",
    "nvmlDeviceGetRowRemapperHistogram",
    labels=("availability",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
RETIRED_PAGES = gpu_family(
    "retired_pages",
    Unit.PAGES,
    "Pages of memory given up, by the severity of their errors (GPUs before Ampere).",
    f"{_FIELDS}_RETIRED_SBE, …DBE",
    dcgm("DEV_RETIRED_SBE", cause="corrected"),
    dcgm("DEV_RETIRED_DBE", cause="uncorrected"),
    labels=("cause",),
    tier=Tier.SLOW,
    profile=Profile.FULL,
)
RETIRED_PAGES_PENDING = gpu_family(
    "retired_pages_pending",
    Unit.BOOLEAN,
    "Whether the driver has to be loaded again to give up pages (1).",
    f"{_FIELDS}_RETIRED_PENDING",
    dcgm("DEV_RETIRED_PENDING"),
    tier=Tier.SLOW,
    profile=Profile.FULL,
)
RECOVERY_ACTION = gpu_family(
    "recovery_action",
    Unit.ENUM,
    "What the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 drain peers, 4 drain and reset, "
    "5 recover the IMEX domain, 6 reset of the bus, 7 restart.",
    f"{_FIELDS}_GET_GPU_RECOVERY_ACTION",
    dcgm("DEV_GPU_RECOVERY_ACTION"),
    tier=Tier.SLOW,
)

XID_ERRORS = gpu_family(
    "xid_errors_total",
    Unit.COUNT,
    "Errors that the driver reported since the exporter started, by their XID number.",
    "nvmlEventSetWait_v2 nvmlEventTypeXidCriticalError, /dev/kmsg NVRM: Xid",
    labels=("xid",),
)
XID_LAST_TIMESTAMP_SECONDS = gpu_family(
    "xid_last_timestamp_seconds",
    Unit.SECONDS,
    "When each XID error was last seen, in seconds since the epoch.",
    "nvmlEventSetWait_v2, /dev/kmsg",
    labels=("xid",),
)
