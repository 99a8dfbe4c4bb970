"""Families of the host as a whole: load, pressure, kernel health, board sensors.

Formats: https://docs.kernel.org/accounting/psi.html, https://docs.kernel.org/hwmon/sysfs-interface.html,
https://docs.kernel.org/power/powercap/powercap.html, https://docs.kernel.org/PCI/pcieaer-howto.html,
https://docs.kernel.org/driver-api/thermal/sysfs-api.html, https://docs.kernel.org/ABI/testing/sysfs-bus-pci.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _stat(name: str, kind: Kind, unit: Unit, help_text: str, key: str, alias: str) -> Family:
    source = f"/proc/stat {key}"
    return Family(name, kind, unit, help_text, Subsystem.HOST, source=source, aliases=(Alias(alias),))


CONTEXT_SWITCHES = _stat(
    "hostpulse_host_context_switches_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Context switches of all CPUs.",
    "ctxt",
    "node_context_switches_total",
)
INTERRUPTS = _stat(
    "hostpulse_host_interrupts_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Hardware interrupts of all CPUs, as the kernel sums them.",
    "intr",
    "node_intr_total",
)
FORKS = _stat(
    "hostpulse_host_forks_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Processes and threads created.",
    "processes",
    "node_forks_total",
)
PROCS_RUNNING = _stat(
    "hostpulse_host_procs_running",
    Kind.GAUGE,
    Unit.COUNT,
    "Tasks that run or wait for a CPU at this instant.",
    "procs_running",
    "node_procs_running",
)
PROCS_BLOCKED = _stat(
    "hostpulse_host_procs_blocked",
    Kind.GAUGE,
    Unit.COUNT,
    "Tasks that wait for I/O at this instant and cannot be interrupted.",
    "procs_blocked",
    "node_procs_blocked",
)
BOOT_TIME_SECONDS = _stat(
    "hostpulse_host_boot_time_seconds",
    Kind.GAUGE,
    Unit.SECONDS,
    "When the kernel started, in seconds since the epoch.",
    "btime",
    "node_boot_time_seconds",
)


def _pressure(name: str, help_text: str, source: str, alias: str, resources: tuple[str, ...]) -> Family:
    aliases = tuple(Alias(alias.format(resource), adds={"resource": resource}) for resource in resources)
    labels = ("resource",)
    return Family(name, Kind.COUNTER, Unit.SECONDS, help_text, Subsystem.HOST, labels, source=source, aliases=aliases)


PRESSURE_WAITING_SECONDS = _pressure(
    "hostpulse_host_pressure_waiting_seconds_total",
    "Time in which at least one task waited for the resource.",
    "/proc/pressure/* some total",
    "node_pressure_{}_waiting_seconds_total",
    ("cpu", "io", "memory"),
)
PRESSURE_STALLED_SECONDS = _pressure(
    "hostpulse_host_pressure_stalled_seconds_total",
    "Time in which no task could run because all waited for the resource.",
    "/proc/pressure/* full total",
    "node_pressure_{}_stalled_seconds_total",
    ("io", "memory", "irq"),
)
LOAD_AVERAGE = Family(
    "hostpulse_host_load_average",
    Kind.GAUGE,
    Unit.COUNT,
    "Mean number of tasks that run, wait for a CPU or for I/O, over a window of 1, 5 or 15 minutes.",
    Subsystem.HOST,
    ("window",),
    Tier.MEDIUM,
    source="/proc/loadavg",
    aliases=tuple(Alias(f"node_load{minutes}", adds={"window": f"{minutes}m"}) for minutes in (1, 5, 15)),
)
HUNG_TASKS = Family(
    "hostpulse_host_hung_tasks_total",
    Kind.COUNTER,
    Unit.COUNT,
    "Tasks that the kernel found stuck for longer than its hung task time-out.",
    Subsystem.HOST,
    (),
    Tier.SLOW,
    Profile.STANDARD,
    "/proc/sys/kernel/hung_task_detect_count",
    (Alias("node_kernel_hung_task_detect_count"),),
)
TAINT = Family(
    "hostpulse_host_taint",
    Kind.GAUGE,
    Unit.COUNT,
    "Taint flags of the kernel as a bit mask; bit 4 is a machine check, bit 9 a warning.",
    Subsystem.HOST,
    (),
    Tier.SLOW,
    Profile.STANDARD,
    "/proc/sys/kernel/tainted",
)
INFO = Family(
    "hostpulse_host_info",
    Kind.INFO,
    Unit.NONE,
    "What this host is: kernel, distribution, product and firmware.",
    Subsystem.HOST,
    ("nodename", "kernel", "os", "vendor", "product", "bios", "hypervisor"),
    Tier.STATIC,
    source="/proc/sys/kernel, /etc/os-release, /sys/class/dmi/id",
)
HWMON_TEMPERATURE_CELSIUS = Family(
    "hostpulse_host_hwmon_temperature_celsius",
    Kind.GAUGE,
    Unit.CELSIUS,
    "Temperature that a board sensor reports.",
    Subsystem.HOST,
    ("chip", "sensor", "label"),
    Tier.SLOW,
    source="/sys/class/hwmon/hwmon*/temp*_input",
    aliases=(Alias("node_hwmon_temp_celsius", adds={"label": ""}),),
)
HWMON_POWER_WATTS = Family(
    "hostpulse_host_hwmon_power_watts",
    Kind.GAUGE,
    Unit.WATTS,
    "Power that a board sensor or power supply reports.",
    Subsystem.HOST,
    ("chip", "sensor"),
    Tier.SLOW,
    source="/sys/class/hwmon/hwmon*/power*_input, power*_average",
    aliases=(Alias("node_hwmon_power_watt"), Alias("node_hwmon_power_average_watt")),
)
HWMON_FAN_RPM = Family(
    "hostpulse_host_hwmon_fan_rpm",
    Kind.GAUGE,
    Unit.COUNT,
    "Speed of a fan in revolutions a minute.",
    Subsystem.HOST,
    ("chip", "sensor"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/class/hwmon/hwmon*/fan*_input",
    (Alias("node_hwmon_fan_rpm"),),
)
HWMON_VOLTAGE_VOLTS = Family(
    "hostpulse_host_hwmon_voltage_volts",
    Kind.GAUGE,
    Unit.VOLTS,
    "Voltage that a board sensor or power supply reports.",
    Subsystem.HOST,
    ("chip", "sensor", "label"),
    Tier.SLOW,
    Profile.FULL,
    "/sys/class/hwmon/hwmon*/in*_input",
    (Alias("node_hwmon_in_volts", adds={"label": ""}),),
)
RAPL_POWER_LIMIT_WATTS = Family(
    "hostpulse_host_rapl_power_limit_watts",
    Kind.GAUGE,
    Unit.WATTS,
    "Mean power that a zone of a CPU package is held to, over a long and over a short time.",
    Subsystem.HOST,
    ("zone", "package", "constraint"),
    Tier.SLOW,
    Profile.FULL,
    "/sys/class/powercap/intel-rapl*/constraint_*_power_limit_uw",
)


def _cooling(name: str, file: str, help_text: str) -> Family:
    """A state of a cooling device, in steps of its own."""
    return Family(
        f"hostpulse_host_cooling_device_{name}",
        Kind.GAUGE,
        Unit.COUNT,
        help_text,
        Subsystem.HOST,
        ("device", "type"),
        Tier.SLOW,
        Profile.FULL,
        f"/sys/class/thermal/cooling_device*/{file}",
        (Alias(f"node_cooling_device_{file}", renames={"device": "name"}),),
    )


COOLING_DEVICE_STATE = _cooling(
    "state",
    "cur_state",
    "How hard a cooling device works, in steps of its own: a fan turns, or a CPU is slowed down; -1 is switched off.",
)
COOLING_DEVICE_MAX_STATE = _cooling(
    "max_state", "max_state", "The most that a cooling device can do, in the same steps."
)
RAPL_ENERGY_JOULES = Family(
    "hostpulse_host_rapl_energy_joules_total",
    Kind.COUNTER,
    Unit.JOULES,
    "Energy that a power zone of a CPU package used, with the wrap-around of the hardware counter undone.",
    Subsystem.HOST,
    ("zone", "package"),
    Tier.MEDIUM,
    source="/sys/class/powercap/intel-rapl*/energy_uj",
    aliases=tuple(
        Alias(f"node_rapl_{zone}_joules_total", adds={"zone": zone}, renames={"package": "index"})
        for zone in ("package", "dram", "core", "uncore")
    ),
)
PCIE_AER_ERRORS = Family(
    "hostpulse_host_pcie_aer_errors_total",
    Kind.COUNTER,
    Unit.COUNT,
    "PCI Express errors that a device or port reported, by severity.",
    Subsystem.HOST,
    ("device", "severity"),
    Tier.SLOW,
    source="/sys/bus/pci/devices/*/aer_dev_{correctable,nonfatal,fatal} TOTAL_ERR_*",
)
PCIE_LINK_SPEED_TRANSFERS_PER_SECOND = Family(
    "hostpulse_host_pcie_link_speed_transfers_per_second",
    Kind.GAUGE,
    Unit.COUNT,
    "Speed of a device's PCI Express link, in transfers per second of each lane; GPUs slow theirs down when idle.",
    Subsystem.HOST,
    ("device",),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/bus/pci/devices/*/current_link_speed",
)
PCIE_LINK_WIDTH = Family(
    "hostpulse_host_pcie_link_width",
    Kind.GAUGE,
    Unit.COUNT,
    "Lanes that a device's PCI Express link uses.",
    Subsystem.HOST,
    ("device",),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/bus/pci/devices/*/current_link_width",
)
THERMAL_ZONE_CELSIUS = Family(
    "hostpulse_host_thermal_zone_celsius",
    Kind.GAUGE,
    Unit.CELSIUS,
    "Temperature of a thermal zone, as the firmware or a driver reports it.",
    Subsystem.HOST,
    ("zone", "type"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/class/thermal/thermal_zone*/temp",
    (Alias("node_thermal_zone_temp"),),
)
