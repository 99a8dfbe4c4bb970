"""GPU families, as NVIDIA's driver tells them through NVML; XID errors also as it logs them.

What the fields mean: https://docs.nvidia.com/deploy/nvml-api/; what XID numbers mean: https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

_MIB = 1048576.0
_PERCENT = 0.01
_FIELDS = "nvmlDeviceGetFieldValues NVML_FI_DEV"


def gpu_family(
    name: str,
    unit: Unit,
    help_text: str,
    source: str,
    *aliases: Alias,
    labels: tuple[str, ...] = (),
    tier: Tier = Tier.GPU,
    profile: Profile = Profile.CORE,
    of_gpu: bool = True,
) -> Family:
    """A family of each GPU, or of the host; its kind follows from its name."""
    kinds = {"total": Kind.COUNTER, "info": Kind.INFO}
    kind = kinds.get(name.rpartition("_")[2], Kind.GAUGE)
    labels = ("gpu", *labels) if of_gpu else labels
    return Family(f"hostpulse_gpu_{name}", kind, unit, help_text, Subsystem.GPU, labels, tier, profile, source, aliases)


def dcgm(name: str, factor: float = 1.0, **adds: str) -> Alias:
    """The same quantity as dcgm-exporter names it; its label ``gpu`` is ours."""
    return Alias(f"DCGM_FI_{name}", factor, adds=adds)


def _throttle(field: str, reason: str) -> Alias:
    return dcgm(f"DEV_CLOCKS_EVENT_REASON_{field}_NS", 1e-9, reason=reason)


UP = gpu_family("up", Unit.BOOLEAN, "Whether the GPU answers (1) or has fallen off the bus (0).", "any NVML call")
DEVICES = gpu_family(
    "devices",
    Unit.COUNT,
    "GPUs that the driver finds (nvml) and that are plugged in (pci).",
    "nvmlDeviceGetCount_v2, /sys/bus/pci/devices/*/class",
    labels=("source",),
    tier=Tier.SLOW,
    of_gpu=False,
)
INFO = gpu_family(
    "info",
    Unit.NONE,
    "What each GPU is.",
    "nvmlDeviceGetName, …UUID, …PciInfo_v3, …VbiosVersion, …Serial",
    labels=(
        *("uuid", "name", "driver_version", "cuda_version", "vbios", "serial", "pci_bus_id", "compute_capability"),
        "node",
    ),
    tier=Tier.STATIC,
)
MODE_INFO = gpu_family(
    "mode_info",
    Unit.NONE,
    "How each GPU is set up.",
    "nvmlDeviceGetComputeMode, …PersistenceMode, …EccMode, …MigMode, …GspFirmwareMode",
    labels=("compute_mode", "persistence", "ecc", "mig", "gsp", "confidential_compute"),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)

UTILIZATION_RATIO = gpu_family(
    "utilization_ratio",
    Unit.RATIO,
    "Share of the driver's last sampling period in which any kernel ran.",
    "nvmlDeviceGetUtilizationRates gpu",
    dcgm("DEV_GPU_UTIL", _PERCENT),
)
MEMORY_UTILIZATION_RATIO = gpu_family(
    "memory_utilization_ratio",
    Unit.RATIO,
    "Share of the driver's last sampling period in which memory was read or written.",
    "nvmlDeviceGetUtilizationRates memory",
    dcgm("DEV_MEM_COPY_UTIL", _PERCENT),
)
ENCODER_UTILIZATION_RATIO = gpu_family(
    "encoder_utilization_ratio",
    Unit.RATIO,
    "How busy the video encoder is.",
    "nvmlDeviceGetEncoderUtilization",
    dcgm("DEV_ENC_UTIL", _PERCENT),
)
DECODER_UTILIZATION_RATIO = gpu_family(
    "decoder_utilization_ratio",
    Unit.RATIO,
    "How busy the video decoder is.",
    "nvmlDeviceGetDecoderUtilization",
    dcgm("DEV_DEC_UTIL", _PERCENT),
)
JPEG_UTILIZATION_RATIO = gpu_family(
    "jpeg_utilization_ratio",
    Unit.RATIO,
    "How busy the JPEG decoder is.",
    "nvmlDeviceGetJpgUtilization",
    profile=Profile.FULL,
)
OFA_UTILIZATION_RATIO = gpu_family(
    "ofa_utilization_ratio",
    Unit.RATIO,
    "How busy the optical flow accelerator is.",
    "nvmlDeviceGetOfaUtilization",
    profile=Profile.FULL,
)

_MEMORY = "nvmlDeviceGetMemoryInfo_v2"
MEMORY_USED_BYTES = gpu_family(
    "memory_used_bytes", Unit.BYTES, "Memory in use.", f"{_MEMORY} used", dcgm("DEV_FB_USED", _MIB)
)
MEMORY_FREE_BYTES = gpu_family(
    "memory_free_bytes", Unit.BYTES, "Memory that is free.", f"{_MEMORY} free", dcgm("DEV_FB_FREE", _MIB)
)
MEMORY_TOTAL_BYTES = gpu_family(
    "memory_total_bytes", Unit.BYTES, "Memory in all.", f"{_MEMORY} total", dcgm("DEV_FB_TOTAL", _MIB)
)
MEMORY_RESERVED_BYTES = gpu_family(
    "memory_reserved_bytes",
    Unit.BYTES,
    "Memory that the driver and the firmware keep for themselves.",
    f"{_MEMORY} reserved",
    dcgm("DEV_FB_RESERVED", _MIB),
    profile=Profile.STANDARD,
)
BAR1_USED_BYTES = gpu_family(
    "bar1_used_bytes",
    Unit.BYTES,
    "Memory mapped for other devices to reach over PCI Express.",
    "nvmlDeviceGetBAR1MemoryInfo bar1Used",
    dcgm("DEV_BAR1_USED", _MIB),
)
BAR1_TOTAL_BYTES = gpu_family(
    "bar1_total_bytes",
    Unit.BYTES,
    "Memory that can be mapped for other devices to reach.",
    "nvmlDeviceGetBAR1MemoryInfo bar1Total",
    dcgm("DEV_BAR1_TOTAL", _MIB),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)

POWER_WATTS = gpu_family(
    "power_watts",
    Unit.WATTS,
    "Power drawn, averaged over a second where the GPU does that.",
    f"{_FIELDS}_POWER_AVERAGE, else nvmlDeviceGetPowerUsage",
    dcgm("DEV_POWER_USAGE"),
)
POWER_INSTANT_WATTS = gpu_family(
    "power_instant_watts",
    Unit.WATTS,
    "Power drawn now.",
    f"{_FIELDS}_POWER_INSTANT",
    dcgm("DEV_POWER_USAGE_INSTANT"),
)
ENERGY_JOULES = gpu_family(
    "energy_joules_total",
    Unit.JOULES,
    "Energy used since the driver was loaded.",
    f"{_FIELDS}_TOTAL_ENERGY_CONSUMPTION",
    dcgm("DEV_TOTAL_ENERGY_CONSUMPTION", 1e-3),
)
POWER_LIMIT_WATTS = gpu_family(
    "power_limit_watts",
    Unit.WATTS,
    "Limits of power: in force (current), asked for (requested), at start (default), and what can be asked for.",
    f"{_FIELDS}_POWER_CURRENT_LIMIT, …REQUESTED…, …DEFAULT…, …MIN…, …MAX…",
    dcgm("DEV_ENFORCED_POWER_LIMIT", limit="current"),
    labels=("limit",),
    tier=Tier.SLOW,
)
TEMPERATURE_CELSIUS = gpu_family(
    "temperature_celsius",
    Unit.CELSIUS,
    "Temperature of the chip.",
    "nvmlDeviceGetTemperature NVML_TEMPERATURE_GPU",
    dcgm("DEV_GPU_TEMP"),
)
MEMORY_TEMPERATURE_CELSIUS = gpu_family(
    "memory_temperature_celsius",
    Unit.CELSIUS,
    "Temperature of the memory.",
    f"{_FIELDS}_MEMORY_TEMP",
    dcgm("DEV_MEMORY_TEMP"),
)
TEMPERATURE_MARGIN_CELSIUS = gpu_family(
    "temperature_margin_celsius",
    Unit.CELSIUS,
    "How much hotter the GPU may get before it slows down.",
    "nvmlDeviceGetMarginTemperature",
    dcgm("DEV_GPU_TEMP_LIMIT"),
    profile=Profile.STANDARD,
)
FAN_SPEED_RATIO = gpu_family(
    "fan_speed_ratio",
    Unit.RATIO,
    "Speed that each fan is told to run at, of its highest.",
    "nvmlDeviceGetFanSpeed_v2",
    labels=("fan",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)

CLOCK_HERTZ = gpu_family(
    "clock_hertz",
    Unit.HERTZ,
    "Clocks as they are now: graphics, sm, memory, video.",
    "nvmlDeviceGetClockInfo",
    dcgm("DEV_SM_CLOCK", 1e6, domain="sm"),
    dcgm("DEV_MEM_CLOCK", 1e6, domain="memory"),
    labels=("domain",),
)
CLOCK_MAX_HERTZ = gpu_family(
    "clock_max_hertz",
    Unit.HERTZ,
    "The highest that each clock can be.",
    "nvmlDeviceGetMaxClockInfo",
    dcgm("DEV_MAX_SM_CLOCK", 1e6, domain="sm"),
    dcgm("DEV_MAX_MEM_CLOCK", 1e6, domain="memory"),
    labels=("domain",),
    tier=Tier.SLOW,
)
CLOCK_EVENT_ACTIVE = gpu_family(
    "clock_event_active",
    Unit.BOOLEAN,
    "Whether each reason keeps the clocks down now (1).",
    "nvmlDeviceGetCurrentClocksEventReasons",
    labels=("reason",),
)
CLOCK_EVENT_SECONDS = gpu_family(
    "clock_event_seconds_total",
    Unit.SECONDS,
    "Time in which each reason kept the clocks down.",
    f"{_FIELDS}_CLOCKS_EVENT_REASON_SW_POWER_CAP, …SYNC_BOOST, …SW_THERM_SLOWDOWN, …HW_THERM_…, …HW_POWER_BRAKE_…",
    _throttle("SW_POWER_CAP", "sw_power_cap"),
    _throttle("SYNC_BOOST", "sync_boost"),
    _throttle("SW_THERM_SLOWDOWN", "sw_thermal_slowdown"),
    _throttle("HW_THERM_SLOWDOWN", "hw_thermal_slowdown"),
    _throttle("HW_POWER_BRAKE_SLOWDOWN", "hw_power_brake_slowdown"),
    labels=("reason",),
)
VIOLATION_SECONDS = gpu_family(
    "violation_seconds_total",
    Unit.SECONDS,
    "Time below the clocks that were asked for, by the policy that was to blame.",
    f"{_FIELDS}_PERF_POLICY_POWER, …THERMAL, …SYNC_BOOST, …BOARD_LIMIT, …LOW_UTILIZATION, …RELIABILITY, …TOTAL_…",
    labels=("policy",),
    profile=Profile.STANDARD,
)
PERFORMANCE_STATE = gpu_family(
    "performance_state",
    Unit.ENUM,
    "Performance state: 0 is the fastest, 15 the slowest.",
    "nvmlDeviceGetPerformanceState",
    dcgm("DEV_PSTATE"),
)


def _gpm(name: str, help_text: str, metric: str, alias: str, profile: Profile = Profile.CORE) -> Family:
    source = f"nvmlGpmMetricsGet NVML_GPM_METRIC_{metric}"
    aliases = (dcgm(f"PROF_{alias}"),)
    return gpu_family(name, Unit.RATIO, help_text, source, *aliases, profile=profile)


SM_ACTIVE_RATIO = _gpm("sm_active_ratio", "Share of multiprocessors that had work, over time.", "SM_UTIL", "SM_ACTIVE")
SM_OCCUPANCY_RATIO = _gpm(
    "sm_occupancy_ratio", "Warps on the multiprocessors, of those that fit.", "SM_OCCUPANCY", "SM_OCCUPANCY"
)
TENSOR_ACTIVE_RATIO = _gpm(
    "tensor_active_ratio", "Share of time in which tensor cores worked.", "ANY_TENSOR_UTIL", "PIPE_TENSOR_ACTIVE"
)
DRAM_ACTIVE_RATIO = _gpm(
    "dram_active_ratio", "Bandwidth of the memory in use, of the highest.", "DRAM_BW_UTIL", "DRAM_ACTIVE"
)
GRAPHICS_ACTIVE_RATIO = _gpm(
    "graphics_active_ratio",
    "Share of time in which any program ran.",
    "GRAPHICS_UTIL",
    "GR_ENGINE_ACTIVE",
    Profile.STANDARD,
)
FP32_ACTIVE_RATIO = _gpm(
    "fp32_active_ratio",
    "Share of time in which 32-bit arithmetic ran outside of tensor cores.",
    "FP32_UTIL",
    "PIPE_FP32_ACTIVE",
    Profile.STANDARD,
)
FP16_ACTIVE_RATIO = _gpm(
    "fp16_active_ratio",
    "Share of time in which 16-bit arithmetic ran outside of tensor cores.",
    "FP16_UTIL",
    "PIPE_FP16_ACTIVE",
    Profile.STANDARD,
)
TENSOR_HMMA_ACTIVE_RATIO = _gpm(
    "tensor_hmma_active_ratio",
    "Share of time in which tensor cores worked on 16-bit and 8-bit numbers.",
    "HMMA_TENSOR_UTIL",
    "PIPE_TENSOR_HMMA_ACTIVE",
    Profile.FULL,
)
FP64_ACTIVE_RATIO = _gpm(
    "fp64_active_ratio",
    "Share of time in which 64-bit arithmetic ran outside of tensor cores.",
    "FP64_UTIL",
    "PIPE_FP64_ACTIVE",
    Profile.FULL,
)
INTEGER_ACTIVE_RATIO = _gpm(
    "integer_active_ratio",
    "Share of time in which integer arithmetic ran.",
    "INTEGER_UTIL",
    "PIPE_INT_ACTIVE",
    Profile.FULL,
)

PROCESSES = gpu_family(
    "processes",
    Unit.COUNT,
    "Processes that hold the GPU, by what they use it for.",
    "nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3",
    labels=("type",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
PROCESS_MEMORY_BYTES = gpu_family(
    "process_memory_bytes",
    Unit.BYTES,
    "Memory of the GPU that each process holds; its number alone is told, and not what it is called.",
    "nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3",
    labels=("pid",),
    tier=Tier.SLOW,
    profile=Profile.FULL,
)
MIG_INFO = gpu_family(
    "mig_info",
    Unit.NONE,
    "What each instance of a partitioned GPU is.",
    "nvmlDeviceGetMigDeviceHandleByIndex, nvmlDeviceGetName",
    labels=("gpu_instance", "compute_instance", "profile", "uuid"),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
MIG_MEMORY_USED_BYTES = gpu_family(
    "mig_memory_used_bytes",
    Unit.BYTES,
    "Memory in use in each instance of a partitioned GPU.",
    "nvmlDeviceGetMemoryInfo of the instance",
    labels=("gpu_instance",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
MIG_MEMORY_TOTAL_BYTES = gpu_family(
    "mig_memory_total_bytes",
    Unit.BYTES,
    "Memory of each instance of a partitioned GPU.",
    "nvmlDeviceGetMemoryInfo of the instance, total",
    labels=("gpu_instance",),
    tier=Tier.SLOW,
    profile=Profile.STANDARD,
)
