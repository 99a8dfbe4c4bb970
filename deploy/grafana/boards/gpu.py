"""The board of a host's GPUs side by side: work, power, heat, what slows them, links, errors.

What throttles a GPU: https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from grafana_foundation_sdk.builders import dashboard, stat, timeseries

from catalog import SIGNALS
from catalog.expression import level
from catalog.families import gpu
from catalog.family import Subsystem
from catalog.signal import Role, Signal
from deploy.grafana import chosen, colours
from deploy.grafana.board import board as new_board
from deploy.grafana.board import mark_episodes, row
from deploy.grafana.colours import BAD, GOOD, WARN
from deploy.grafana.elsewhere import anywhere
from deploy.grafana.panels import Query, lines, named_colours, number
from deploy.grafana.signals import UNITS, headed, labels, short

_WHERE = chosen.HOST + ',gpu=~"$gpu"'
_MOST_NAMED = 16
_AS_TOLD = partial(Signal, subsystem=Subsystem.GPU, role=Role.UTILISATION, floor=1.0)
_POWER = _AS_TOLD("gpu_power", "Power as the driver tells it.", level(gpu.POWER_WATTS), "W")
_CLOCK = _AS_TOLD("gpu_clock", "Clock of the SMs.", level(gpu.CLOCK_HERTZ, domain="sm"), "Hz")
_QUANTITIES = {**SIGNALS, _POWER.name: _POWER, _CLOCK.name: _CLOCK}
ROWS = {  # title -> signals, a panel each
    "Work": ("gpu_utilization_ratio", "gpu_memory_utilization_ratio", "gpu_memory_used_ratio"),
    "Power, heat and clocks": (
        _POWER.name,
        "gpu_power_headroom_ratio",
        _CLOCK.name,
        "gpu_temperature_celsius",
        "gpu_memory_temperature_celsius",
        "gpu_performance_state",
    ),
    "Slowed down by": (
        "gpu_sw_power_cap_ratio",
        "gpu_sw_thermal_slowdown_ratio",
        "gpu_hw_thermal_slowdown_ratio",
        "gpu_hw_power_brake_slowdown_ratio",
    ),
    "Errors": (
        "gpu_ecc_corrected_per_second",
        "gpu_ecc_uncorrected_per_second",
        "gpu_pcie_replays_per_second",
    ),
}
FOLDED = {  # what not every GPU or exporter has
    "Tensor cores and memory, as performance monitors count": (
        "gpu_sm_active_ratio",
        "gpu_sm_occupancy_ratio",
        "gpu_tensor_active_ratio",
        "gpu_dram_active_ratio",
    ),
    "NVLink and PCI Express": (
        "gpu_nvlink_receive_bytes_per_second",
        "gpu_nvlink_transmit_bytes_per_second",
        "gpu_nvlink_errors_per_second",
        "gpu_pcie_receive_bytes_per_second",
        "gpu_pcie_transmit_bytes_per_second",
        "gpu_pcie_width_ratio",
        "gpu_pcie_generation_ratio",
    ),
    "Rows of memory, XID errors and what the driver asks for": (
        "gpu_remapped_rows",
        "gpu_remapped_rows_pending",
        "gpu_row_remap_failure",
        "gpu_xid_errors_per_second",
        "gpu_recovery_action",
    ),
}
_UNEVEN = ("gpu_utilization_spread_ratio", "gpu_temperature_spread_celsius", "gpu_power_spread_watts")


def board() -> dashboard.Dashboard:
    """Does each GPU of this host do as the others do, and is one slowed down or broken?"""
    question = "Does each GPU of this host do as the others do, and is one slowed down or broken?"
    names = f"label_values({chosen.any_name_of(*chosen.ANY_GPU, where=chosen.HOST)}, gpu)"
    which = chosen.several("gpu", "GPU", names)
    built = new_board("gpu", "GPUs of a host", question, (chosen.host(*chosen.ANY_GPU), which))
    mark_episodes(built)
    row(built, "Now", _figures())
    for title, shown in ROWS.items():
        row(built, title, (_each_gpu(name, 6 if len(shown) % 4 == 0 else 8) for name in shown))
    row(built, "Unlike each other", map(_over_gpus, _UNEVEN))
    for title, shown in FOLDED.items():
        row(built, title, map(_each_gpu, shown), collapsed=True)
    row(built, "All other signals", _others(), collapsed=True)
    return built


def _told(name: str, where: str = _WHERE) -> str:
    return anywhere(_QUANTITIES[name].expression, chosen.WINDOW, where)


def _figures() -> Iterator[stat.Panel]:
    seen = f"count({_told('gpu_temperature_celsius')})"
    yield number("GPUs that answer", seen, "GPUs whose temperature is told.").decimals(0)
    yield number("Busy", f"avg({_told('gpu_utilization_ratio')})", "Mean over the GPUs.", "percentunit").decimals(0)
    yield number("Power", f"sum({_told(_POWER.name)})", "Of all GPUs together.", "watt").decimals(0)
    hottest = number("Hottest", f"max({_told('gpu_temperature_celsius')})", "The hottest GPU.", "celsius")
    yield hottest.decimals(0).thresholds(colours.steps((GOOD, None), (WARN, 80.0), (BAD, 88.0)))
    slowed = f"max({_told('gpu_hw_thermal_slowdown_ratio')})"
    panel = number("Slowed by heat", slowed, "Share of time, of the GPU with most of it.", "percentunit")
    yield panel.thresholds(colours.steps((GOOD, None), (WARN, 0.01), (BAD, 0.1)))
    uncorrected = f"sum({_told('gpu_ecc_uncorrected_per_second')}) * 3600"
    panel = number("Uncorrected errors an hour", uncorrected, "ECC errors that data was lost by, all GPUs.")
    yield panel.decimals(0).thresholds(colours.steps((GOOD, None), (BAD, 1e-9)))


def _each_gpu(name: str, width: int = 8) -> timeseries.Panel:
    """One signal, a line for each GPU in the colour that it has everywhere."""
    signal = _QUANTITIES[name]
    more = " ".join(f"{{{{{label}}}}}" for label in sorted(labels(signal) - {"gpu"}))
    query = Query(_told(name), f"GPU {{{{gpu}}}} {more}".strip())
    title = short(signal)
    panel = lines(headed(title), [query], UNITS[signal.unit], signal.help, width)
    if more:
        return panel
    return named_colours(
        panel, dict(zip(map("GPU {}".format, range(_MOST_NAMED)), colours.one_after_another(), strict=False))
    )


def _over_gpus(name: str) -> timeseries.Panel:
    signal = _QUANTITIES[name]
    title = short(signal)
    query = Query(_told(name, chosen.HOST), title)
    return lines(headed(title), [query], UNITS[signal.unit], signal.help)


def _others() -> Iterator[timeseries.Panel]:
    shown = {*_UNEVEN, *(name for row_of in (ROWS, FOLDED) for names in row_of.values() for name in names)}
    for name, signal in SIGNALS.items():
        if signal.subsystem is Subsystem.GPU and name not in shown:
            yield _each_gpu(name) if "gpu" in labels(signal) else _over_gpus(name)
