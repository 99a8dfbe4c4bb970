"""CPU signals: where time goes, how evenly, what waits. Averages and imbalance over CPUs, never one CPU by itself."""

from __future__ import annotations

from functools import partial

from catalog.expression import at_least, largest, level, mean, rate, ratio, spread, total
from catalog.families import cpu, host
from catalog.family import Subsystem
from catalog.signal import Role, Scale, Signal, Worse

_utilisation = partial(Signal, subsystem=Subsystem.CPU, role=Role.UTILISATION, worse=Worse.EITHER)
_saturation = partial(Signal, subsystem=Subsystem.CPU, role=Role.SATURATION)
_state = partial(Signal, subsystem=Subsystem.CPU, role=Role.STATE, worse=Worse.EITHER, scale=Scale.LINEAR)
_error = partial(Signal, subsystem=Subsystem.CPU, role=Role.ERROR)


def _mode(mode: str, meaning: str) -> Signal:
    return _utilisation(
        f"cpu_{mode}_ratio",
        f"Share of CPU time spent {meaning}.",
        mean(rate(cpu.SECONDS, mode=mode), "cpu", "mode"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    )


def _softirqs(kind: str, meaning: str, floor: float) -> Signal:
    return _utilisation(
        f"cpu_softirq_{kind.lower()}_per_second",
        f"Soft interrupts {meaning}.",
        total(rate(cpu.SOFTIRQS, type=kind), "cpu", "type"),
        "1/s",
        floor=floor,
    )


SIGNALS: tuple[Signal, ...] = (
    _mode("user", "in programs"),
    _mode("nice", "in programs of low priority"),
    _mode("system", "in the kernel"),
    _mode("irq", "in hardware interrupts"),
    _mode("softirq", "in soft interrupts"),
    _saturation(
        "cpu_steal_ratio",
        "Share of CPU time that the hypervisor gave to others.",
        mean(rate(cpu.SECONDS, mode="steal"), "cpu", "mode"),
        "ratio",
        floor=0.02,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "cpu_idle_spread_ratio",
        "Imbalance of idle time over CPUs, as standard deviation.",
        spread(rate(cpu.SECONDS, mode="idle"), "cpu", "mode"),
        "ratio",
        floor=0.1,
        scale=Scale.LINEAR,
    ),
    _softirqs("TIMER", "for timers", 200.0),
    _softirqs("SCHED", "for scheduling", 500.0),
    _softirqs("RCU", "for read-copy-update", 500.0),
    _softirqs("TASKLET", "for tasklets", 50.0),
    _utilisation(
        "cpu_interrupts_per_second",
        "Hardware interrupts of all CPUs.",
        total(rate(cpu.INTERRUPTS), "cpu"),
        "1/s",
        floor=500.0,
    ),
    _utilisation(
        "cpu_interrupts_by_class_per_second",
        "Interrupts by kernel vector or driver.",
        rate(cpu.INTERRUPTS_BY_CLASS),
        "1/s",
        floor=300.0,
    ),
    _state(
        "cpu_interrupt_imbalance_ratio",
        "Standard deviation of interrupts over CPUs by their mean: 0 is even.",
        ratio(spread(rate(cpu.INTERRUPTS), "cpu"), at_least(mean(rate(cpu.INTERRUPTS), "cpu"), 5000.0)),
        "ratio",
        floor=0.15,
    ),
    _state(
        "cpu_softirq_imbalance_ratio",
        "Standard deviation of soft interrupts over CPUs by their mean: 0 is even.",
        ratio(
            spread(total(rate(cpu.SOFTIRQS), "type"), "cpu"),
            at_least(mean(total(rate(cpu.SOFTIRQS), "type"), "cpu"), 5000.0),
        ),
        "ratio",
        floor=0.15,
    ),
    _utilisation(
        "cpu_idle_state_ratio",
        "Share of time in each idle state.",
        mean(rate(cpu.IDLE_STATE_SECONDS), "cpu"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _utilisation(
        "cpu_context_switches_per_second",
        "Context switches of all CPUs.",
        rate(host.CONTEXT_SWITCHES),
        "1/s",
        floor=1000.0,
    ),
    _utilisation("cpu_forks_per_second", "Processes and threads started.", rate(host.FORKS), "1/s", floor=5.0),
    _saturation("cpu_running_tasks", "Tasks that run or could.", level(host.PROCS_RUNNING), "", floor=2.0),
    _saturation(
        "cpu_pressure_ratio",
        "Share of time in which some task waited for a CPU.",
        total(rate(host.PRESSURE_WAITING_SECONDS, resource="cpu"), "resource"),
        "ratio",
        floor=0.03,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "cpu_irq_pressure_ratio",
        "Share of time in which interrupts kept all tasks from running.",
        total(rate(host.PRESSURE_STALLED_SECONDS, resource="irq"), "resource"),
        "ratio",
        floor=0.02,
        scale=Scale.LINEAR,
    ),
    _saturation(
        "cpu_queueing_ratio",
        "Mean number of tasks waiting in a CPU's run queue.",
        mean(rate(cpu.SCHED_WAITING_SECONDS), "cpu"),
        "ratio",
        floor=0.1,
        scale=Scale.LINEAR,
    ),
    _error(
        "cpu_core_throttles_per_second",
        "Times that cores slowed down because they were hot.",
        total(rate(cpu.CORE_THROTTLES), "core", "package"),
        "1/s",
        floor=0.1,
    ),
    _error(
        "cpu_package_throttles_per_second",
        "Times that packages slowed down for heat or power.",
        total(rate(cpu.PACKAGE_THROTTLES), "package"),
        "1/s",
        floor=0.1,
    ),
    _utilisation(
        "cpu_power_watts",
        "Power of each RAPL zone.",
        rate(host.RAPL_ENERGY_JOULES),
        "W",
        floor=10.0,
    ),
    _utilisation(
        "cpu_board_temperature_celsius",
        "Hottest sensor of each chip.",
        largest(level(host.HWMON_TEMPERATURE_CELSIUS), "sensor", "label"),
        "°C",
        floor=5.0,
        scale=Scale.LINEAR,
    ),
    _error(
        "cpu_pcie_errors_per_second",
        "PCI Express errors by device and severity.",
        rate(host.PCIE_AER_ERRORS),
        "1/s",
        floor=0.02,
    ),
)
