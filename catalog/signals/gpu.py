"""GPU signals: what they do, what holds them back, what breaks, and how evenly it goes over the GPUs of a host."""

from __future__ import annotations

from functools import partial

from catalog.expression import Expression, level, minus, rate, ratio, spread, total
from catalog.families import gpu, gpuhealth
from catalog.family import Family, Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.GPU, role=Role.UTILISATION, worse=Worse.EITHER)
_state = partial(Signal, subsystem=Subsystem.GPU, role=Role.STATE, scale=Scale.LINEAR)
_saturation = partial(Signal, subsystem=Subsystem.GPU, role=Role.SATURATION, scale=Scale.LINEAR)
_error = partial(Signal, subsystem=Subsystem.GPU, role=Role.ERROR)


def _busy(family: Family) -> Signal:
    """A family of ratios as it stands."""
    name = family.name.removeprefix("hostpulse_")
    return _utilisation(name, family.help, level(family), "ratio", floor=0.05, scale=Scale.LINEAR)


def _traffic(name: str, meaning: str, family: Family) -> Signal:
    return _utilisation(f"gpu_{name}_bytes_per_second", meaning, rate(family), "B/s", floor=1e7)


def _slowed(reason: str, meaning: str, role: Role) -> Signal:
    """Share of time in which a reason kept the clocks down, as the driver adds it up."""
    return Signal(
        f"gpu_{reason}_ratio",
        f"Share of time in which {meaning}.",
        total(rate(gpu.CLOCK_EVENT_SECONDS, reason=reason), "reason"),
        "ratio",
        Subsystem.GPU,
        role,
        floor=0.02,
        scale=Scale.LINEAR,
    )


def _slowed_now(reason: str, meaning: str) -> Signal:
    """The same at the moment of the sample, for GPUs that do not add it up."""
    expression = total(level(gpu.CLOCK_EVENT_ACTIVE, reason=reason), "reason")
    return _error(f"gpu_{reason}_active", meaning, expression, "", floor=0.25, scale=Scale.LINEAR)


def _flag(name: str, meaning: str, family: Family) -> Signal:
    return _error(f"gpu_{name}", meaning, level(family), "", floor=0.5, scale=Scale.LINEAR)


def _ecc(severity: str, meaning: str, floor: float) -> Signal:
    errors = total(rate(gpuhealth.ECC_ERRORS, severity=severity, location="total"), "severity", "location")
    return _error(f"gpu_ecc_{severity}_per_second", meaning, errors, "1/s", floor=floor)


def _of_max(name: str, meaning: str, family: Family) -> Signal:
    def which(value: str) -> Expression:
        return total(level(family, which=value), "which")

    return _state(name, meaning, ratio(which("current"), which("max")), "ratio", floor=0.1, worse=Worse.LOWER)


_LIMIT = total(level(gpu.POWER_LIMIT_WATTS, limit="current"), "limit")
_CLOCKS = ratio(level(gpu.CLOCK_HERTZ), level(gpu.CLOCK_MAX_HERTZ))
_SM_CLOCK = ratio(level(gpu.CLOCK_HERTZ, domain="sm"), level(gpu.CLOCK_MAX_HERTZ, domain="sm"))

SIGNALS: tuple[Signal, ...] = (
    _state("gpu_up", "Whether the GPU answers.", level(gpu.UP), "", floor=0.02, worse=Worse.LOWER, scale=Scale.LINEAR),
    _error(
        "gpu_missing",
        "GPUs that are plugged in and that the driver does not find.",
        minus(total(level(gpu.DEVICES, source="pci"), "source"), total(level(gpu.DEVICES, source="nvml"), "source")),
        "",
        floor=0.5,
        scale=Scale.LINEAR,
    ),
    _busy(gpu.UTILIZATION_RATIO),
    _busy(gpu.MEMORY_UTILIZATION_RATIO),
    _busy(gpu.ENCODER_UTILIZATION_RATIO),
    _busy(gpu.DECODER_UTILIZATION_RATIO),
    _busy(gpu.SM_ACTIVE_RATIO),
    _busy(gpu.SM_OCCUPANCY_RATIO),
    _busy(gpu.TENSOR_ACTIVE_RATIO),
    _busy(gpu.DRAM_ACTIVE_RATIO),
    _utilisation(
        "gpu_memory_used_ratio",
        "Share of memory in use.",
        ratio(level(gpu.MEMORY_USED_BYTES), level(gpu.MEMORY_TOTAL_BYTES)),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "gpu_bar1_used_bytes", "Memory mapped for other devices.", level(gpu.BAR1_USED_BYTES), "B", floor=67108864.0
    ),
    _utilisation("gpu_power_watts", "Power, exact over any time.", rate(gpu.ENERGY_JOULES), "W", floor=20.0),
    _utilisation("gpu_power_now_watts", "Power at the sample.", level(gpu.POWER_INSTANT_WATTS), "W", floor=30.0),
    _utilisation(
        "gpu_power_headroom_ratio",
        "Share of the limit of power that is left.",
        ratio(minus(_LIMIT, level(gpu.POWER_WATTS)), _LIMIT),
        "ratio",
        floor=0.05,
        scale=Scale.LINEAR,
    ),
    _state("gpu_power_limit_watts", "Power that the GPU may draw.", _LIMIT, "W", floor=10.0, worse=Worse.LOWER),
    _utilisation(
        "gpu_temperature_celsius",
        "Temperature of the chip.",
        level(gpu.TEMPERATURE_CELSIUS),
        "°C",
        floor=4.0,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "gpu_memory_temperature_celsius",
        "Temperature of the memory.",
        level(gpu.MEMORY_TEMPERATURE_CELSIUS),
        "°C",
        floor=4.0,
        scale=Scale.LINEAR,
    ),
    _utilisation("gpu_clock_ratio", "Clocks by their maximum.", _CLOCKS, "ratio", floor=0.05, scale=Scale.LINEAR),
    _utilisation(
        "gpu_performance_state",
        "Performance state; 0 is the fastest.",
        level(gpu.PERFORMANCE_STATE),
        "",
        floor=1.0,
        scale=Scale.LINEAR,
    ),
    _slowed("sw_power_cap", "the limit of power kept the clocks down", Role.SATURATION),
    _slowed("sw_thermal_slowdown", "the driver kept the clocks down for heat", Role.SATURATION),
    _slowed("sync_boost", "other GPUs of its group kept the clocks down", Role.SATURATION),
    _slowed("hw_thermal_slowdown", "the hardware kept the clocks down for heat", Role.ERROR),
    _slowed("hw_power_brake_slowdown", "the power supply kept the clocks down", Role.ERROR),
    _slowed_now("hw_slowdown", "Whether the hardware keeps the clocks down, for heat or power."),
    _slowed_now("hw_thermal_slowdown", "Whether the hardware keeps the clocks down for heat."),
    _slowed_now("hw_power_brake_slowdown", "Whether the power supply keeps the clocks down."),
    _saturation(
        "gpu_sw_thermal_slowdown_active",
        "Whether the driver keeps the clocks down for heat.",
        total(level(gpu.CLOCK_EVENT_ACTIVE, reason="sw_thermal_slowdown"), "reason"),
        "",
        floor=0.25,
    ),
    _traffic("pcie_receive", "Bytes received over PCI Express.", gpuhealth.PCIE_RECEIVE_BYTES),
    _traffic("pcie_transmit", "Bytes sent over PCI Express.", gpuhealth.PCIE_TRANSMIT_BYTES),
    _traffic("nvlink_receive", "Bytes received over NVLink.", gpuhealth.NVLINK_RECEIVE_BYTES),
    _traffic("nvlink_transmit", "Bytes sent over NVLink.", gpuhealth.NVLINK_TRANSMIT_BYTES),
    _of_max("gpu_pcie_width_ratio", "Lanes of PCI Express by the most there can be.", gpuhealth.PCIE_LINK_WIDTH),
    _of_max(
        "gpu_pcie_generation_ratio",
        "Generation of PCI Express by the highest there can be.",
        gpuhealth.PCIE_LINK_GENERATION,
    ),
    _error(
        "gpu_pcie_replays_per_second",
        "Packets that PCI Express sent again.",
        rate(gpuhealth.PCIE_REPLAYS),
        "1/s",
        floor=0.2,
    ),
    _error("gpu_nvlink_errors_per_second", "NVLink errors by kind.", rate(gpuhealth.NVLINK_ERRORS), "1/s", floor=0.1),
    _ecc("corrected", "Memory errors that were corrected.", 0.1),
    _ecc("uncorrected", "Memory errors that could not be corrected.", 0.02),
    _error(
        "gpu_remapped_rows",
        "Rows of memory replaced by spare ones.",
        level(gpuhealth.REMAPPED_ROWS),
        "",
        floor=0.5,
        scale=Scale.LINEAR,
    ),
    _flag("remapped_rows_pending", "Whether a reset is needed to replace rows.", gpuhealth.REMAPPED_ROWS_PENDING),
    _flag("row_remap_failure", "Whether spare rows have run out.", gpuhealth.ROW_REMAP_FAILURE),
    _flag("recovery_action", "What the driver asks for; 0 is nothing.", gpuhealth.RECOVERY_ACTION),
    _error(
        "gpu_xid_errors_per_second",
        "Errors that the driver reported.",
        total(rate(gpuhealth.XID_ERRORS), "xid"),
        "1/s",
        floor=0.02,
    ),
    _utilisation(
        "gpu_utilization_spread_ratio",
        "Imbalance of utilisation over GPUs, as standard deviation.",
        spread(level(gpu.UTILIZATION_RATIO), "gpu"),
        "ratio",
        floor=0.1,
        scale=Scale.LINEAR,
    ),
    _state(
        "gpu_sm_clock_spread_ratio",
        "Imbalance of clocks over GPUs: one that is slower holds the others up.",
        spread(_SM_CLOCK, "gpu", "domain"),
        "ratio",
        floor=0.05,
    ),
    _utilisation(
        "gpu_temperature_spread_celsius",
        "Imbalance of temperature over GPUs: one that is cooled worse.",
        spread(level(gpu.TEMPERATURE_CELSIUS), "gpu"),
        "°C",
        floor=3.0,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "gpu_power_spread_watts",
        "Imbalance of power over GPUs.",
        spread(level(gpu.POWER_WATTS), "gpu"),
        "W",
        floor=30.0,
    ),
)
