"""CPU families: time by mode, idle states, interrupts, run queues, throttling.

Formats: https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat,
https://docs.kernel.org/admin-guide/pm/cpuidle.html, https://docs.kernel.org/admin-guide/pm/cpufreq.html,
https://docs.kernel.org/scheduler/sched-stats.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _counter(
    name: str,
    unit: Unit,
    labels: tuple[str, ...],
    help_text: str,
    source: str,
    *,
    alias: str = "",
    tier: Tier = Tier.MEDIUM,
    profile: Profile = Profile.CORE,
) -> Family:
    aliases = (Alias(alias),) if alias else ()
    return Family(name, Kind.COUNTER, unit, help_text, Subsystem.CPU, labels, tier, profile, source, aliases)


SECONDS = _counter(
    "hostpulse_cpu_seconds_total",
    Unit.SECONDS,
    ("cpu", "mode"),
    "Time each CPU spent in each mode; guest time is part of user and nice.",
    "/proc/stat cpuN",
    alias="node_cpu_seconds_total",
    tier=Tier.FAST,
)
GUEST_SECONDS = _counter(
    "hostpulse_cpu_guest_seconds_total",
    Unit.SECONDS,
    ("cpu", "mode"),
    "Time each CPU spent running virtual machines, which is part of its time in user and nice.",
    "/proc/stat cpuN guest, guest_nice",
    alias="node_cpu_guest_seconds_total",
    tier=Tier.FAST,
    profile=Profile.FULL,
)
SOFTIRQS = _counter(
    "hostpulse_cpu_softirqs_total",
    Unit.COUNT,
    ("cpu", "type"),
    "Soft interrupts run by each CPU, by type.",
    "/proc/softirqs",
    alias="node_softirqs_functions_total",
    tier=Tier.FAST,
)
INTERRUPTS = _counter(
    "hostpulse_cpu_interrupts_total",
    Unit.COUNT,
    ("cpu",),
    "Hardware interrupts taken by each CPU, all sources together.",
    "/proc/interrupts columns",
)
INTERRUPTS_BY_CLASS = _counter(
    "hostpulse_cpu_interrupts_by_class_total",
    Unit.COUNT,
    ("class",),
    "Interrupts of all CPUs by class: the kernel's own vectors (LOC, RES, TLB, …) and devices by driver.",
    "/proc/interrupts rows",
)
MACHINE_CHECKS = _counter(
    "hostpulse_cpu_machine_checks_total",
    Unit.COUNT,
    ("cpu",),
    "Machine check exceptions that each CPU took: hardware errors that could not wait. Told by x86 CPUs alone.",
    "/proc/interrupts MCE",
    profile=Profile.STANDARD,
)
IDLE_STATE_SECONDS = _counter(
    "hostpulse_cpu_idle_state_seconds_total",
    Unit.SECONDS,
    ("cpu", "state"),
    "Time each CPU slept in each idle state; deep states add latency to wake-ups.",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/time",
)
IDLE_STATE_ENTRIES = _counter(
    "hostpulse_cpu_idle_state_entries_total",
    Unit.COUNT,
    ("cpu", "state"),
    "How often each CPU entered each idle state.",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/usage",
    profile=Profile.STANDARD,
)
IDLE_STATE_REJECTED = _counter(
    "hostpulse_cpu_idle_state_rejected_total",
    Unit.COUNT,
    ("cpu", "state"),
    "How often each CPU asked for an idle state and did not get it.",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/rejected",
    profile=Profile.FULL,
)
SCHED_WAITING_SECONDS = _counter(
    "hostpulse_cpu_sched_waiting_seconds_total",
    Unit.SECONDS,
    ("cpu",),
    "Time that runnable tasks waited in each CPU's run queue.",
    "/proc/schedstat cpuN field 8",
    alias="node_schedstat_waiting_seconds_total",
)
SCHED_RUNNING_SECONDS = _counter(
    "hostpulse_cpu_sched_running_seconds_total",
    Unit.SECONDS,
    ("cpu",),
    "Time that tasks ran on each CPU, as the scheduler accounts it.",
    "/proc/schedstat cpuN field 7",
    alias="node_schedstat_running_seconds_total",
    profile=Profile.STANDARD,
)
SCHED_TIMESLICES = _counter(
    "hostpulse_cpu_sched_timeslices_total",
    Unit.COUNT,
    ("cpu",),
    "Time slices run on each CPU; running seconds by time slices is the mean slice.",
    "/proc/schedstat cpuN field 9",
    alias="node_schedstat_timeslices_total",
    profile=Profile.STANDARD,
)
CORE_THROTTLES = _counter(
    "hostpulse_cpu_core_throttles_total",
    Unit.COUNT,
    ("package", "core"),
    "How often a core was slowed because it was too hot.",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
    alias="node_cpu_core_throttles_total",
)
CORE_THROTTLE_SECONDS = _counter(
    "hostpulse_cpu_core_throttle_seconds_total",
    Unit.SECONDS,
    ("package", "core"),
    "How long a core was slowed because it was too hot.",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_total_time_ms",
    profile=Profile.STANDARD,
)
PACKAGE_THROTTLES = _counter(
    "hostpulse_cpu_package_throttles_total",
    Unit.COUNT,
    ("package",),
    "How often a whole package was slowed because it was too hot or drew too much power.",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count",
    alias="node_cpu_package_throttles_total",
)
PACKAGE_THROTTLE_SECONDS = _counter(
    "hostpulse_cpu_package_throttle_seconds_total",
    Unit.SECONDS,
    ("package",),
    "How long a whole package was slowed because it was too hot or drew too much power.",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_total_time_ms",
    profile=Profile.STANDARD,
)
ONLINE = Family(
    "hostpulse_cpu_online",
    Kind.GAUGE,
    Unit.BOOLEAN,
    "Whether each CPU that the kernel knows is online (1) or not (0).",
    Subsystem.CPU,
    ("cpu",),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/devices/system/cpu/online",
    (Alias("node_cpu_online"),),
)
FREQUENCY_LIMIT_HERTZ = Family(
    "hostpulse_cpu_frequency_limit_hertz",
    Kind.GAUGE,
    Unit.HERTZ,
    "Bounds of each CPU's frequency: those of the hardware, its base, and the most that the policy allows now.",
    Subsystem.CPU,
    ("cpu", "limit"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/devices/system/cpu/cpu*/cpufreq/{cpuinfo_min_freq,cpuinfo_max_freq,base_frequency,scaling_max_freq}",
    (
        Alias("node_cpu_frequency_min_hertz", adds={"limit": "hardware_min"}),
        Alias("node_cpu_frequency_max_hertz", adds={"limit": "hardware_max"}),
        Alias("node_cpu_scaling_frequency_max_hertz", adds={"limit": "policy_max"}),
    ),
)
FREQUENCY_HERTZ = Family(
    "hostpulse_cpu_frequency_hertz",
    Kind.GAUGE,
    Unit.HERTZ,
    "Frequency of each CPU as its driver tells it: measured over the last moment, or else what was asked for last.",
    Subsystem.CPU,
    ("cpu",),
    Tier.SLOW,
    Profile.FULL,
    "/sys/devices/system/cpu/cpu*/cpufreq/{cpuinfo_avg_freq,scaling_cur_freq}",
    (Alias("node_cpu_scaling_frequency_hertz"),),
)
INFO = Family(
    "hostpulse_cpu_info",
    Kind.INFO,
    Unit.NONE,
    "What each CPU package is: model and microcode.",
    Subsystem.CPU,
    ("package", "vendor", "family", "model", "stepping", "microcode", "model_name"),
    Tier.STATIC,
    Profile.CORE,
    "/proc/cpuinfo",
)
INTERRUPT_AFFINITY_INFO = Family(
    "hostpulse_cpu_interrupt_affinity_info",
    Kind.INFO,
    Unit.NONE,
    "Where interrupts go: how many there are, how many are bound to one CPU, which CPU serves most, and how many.",
    Subsystem.CPU,
    ("interrupts", "bound", "busiest", "on_busiest"),
    Tier.STATIC,
    Profile.CORE,
    "/proc/irq/*/{smp_affinity_list,effective_affinity_list}",
)
TOPOLOGY_INFO = Family(
    "hostpulse_cpu_topology_info",
    Kind.INFO,
    Unit.NONE,
    "Where each CPU sits: core, die, package and NUMA node.",
    Subsystem.CPU,
    ("cpu", "core", "package", "die", "node"),
    Tier.STATIC,
    Profile.STANDARD,
    "/sys/devices/system/cpu/cpu*/topology",
)
