"""Families in which the exporter reports on itself."""

from __future__ import annotations

from catalog.family import Family, Kind, Profile, Subsystem, Tier, Unit


def _own(
    name: str,
    kind: Kind,
    unit: Unit,
    labels: tuple[str, ...],
    help_text: str,
    source: str = "the sampler",
    profile: Profile = Profile.CORE,
) -> Family:
    return Family(name, kind, unit, help_text, Subsystem.EXPORTER, labels, Tier.MEDIUM, profile, source)


BUILD_INFO = Family(
    "hostpulse_exporter_build_info",
    Kind.INFO,
    Unit.NONE,
    "Version of the exporter and of the Python it runs on.",
    Subsystem.EXPORTER,
    ("version", "revision", "python"),
    Tier.STATIC,
    source="the installed distribution",
)
SAMPLE_TIMESTAMP_SECONDS = Family(
    "hostpulse_exporter_sample_timestamp_seconds",
    Kind.GAUGE,
    Unit.SECONDS,
    "Wall time of the newest sample of each tier: the clock of rates.",
    Subsystem.EXPORTER,
    ("tier",),
    source="the sampler",
)
COLLECTOR_SUCCESS = _own(
    "hostpulse_exporter_collector_success",
    Kind.GAUGE,
    Unit.BOOLEAN,
    ("collector",),
    "Whether the collector's last read worked (1); collectors without hardware are left out.",
)
COLLECTOR_CPU_SECONDS = _own(
    "hostpulse_exporter_collector_cpu_seconds_total",
    Kind.COUNTER,
    Unit.SECONDS,
    ("collector",),
    "CPU time that each collector used.",
    "clock of the sampling thread",
)
COLLECTOR_DURATION_SECONDS = _own(
    "hostpulse_exporter_collector_duration_seconds",
    Kind.GAUGE,
    Unit.SECONDS,
    ("collector",),
    "Wall time that each collector's last read took.",
)
COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS = _own(
    "hostpulse_exporter_collector_last_success_timestamp_seconds",
    Kind.GAUGE,
    Unit.SECONDS,
    ("collector",),
    "Wall time of each collector's last read that worked.",
    profile=Profile.STANDARD,
)
COLLECTOR_RETURNS = _own(
    "hostpulse_exporter_collector_returns_total",
    Kind.COUNTER,
    Unit.COUNT,
    ("collector",),
    "Times that a collector which is quick again was moved back to a faster tier; those never moved have none.",
    profile=Profile.STANDARD,
)
TICKS = _own(
    "hostpulse_exporter_ticks_total",
    Kind.COUNTER,
    Unit.COUNT,
    ("tier",),
    "Samples taken in each tier.",
    profile=Profile.STANDARD,
)
TICK_OVERRUNS = _own(
    "hostpulse_exporter_tick_overruns_total",
    Kind.COUNTER,
    Unit.COUNT,
    ("tier",),
    "Ticks that came more than one interval late: holes in the samples.",
)
TICK_LATENESS_SECONDS = _own(
    "hostpulse_exporter_tick_lateness_seconds",
    Kind.GAUGE,
    Unit.SECONDS,
    ("tier", "stat"),
    "How late recent ticks were: the largest and the 99th percentile.",
    profile=Profile.STANDARD,
)
RING_SAMPLES = _own(
    "hostpulse_exporter_ring_samples",
    Kind.GAUGE,
    Unit.COUNT,
    ("tier",),
    "Samples that the ring of each tier holds.",
    profile=Profile.STANDARD,
)
SERIES = _own(
    "hostpulse_exporter_series",
    Kind.GAUGE,
    Unit.COUNT,
    ("subsystem",),
    "Series that are exported, by subsystem.",
)
ERRORS = _own(
    "hostpulse_exporter_errors_total",
    Kind.COUNTER,
    Unit.COUNT,
    ("collector", "error"),
    "Failed reads of each collector, by kind of error.",
)
PROCESS_CPU_SECONDS = _own(
    "process_cpu_seconds_total",
    Kind.COUNTER,
    Unit.SECONDS,
    (),
    "CPU time that the exporter used, user and system.",
    "times(2)",
)
PROCESS_RESIDENT_MEMORY_BYTES = _own(
    "process_resident_memory_bytes",
    Kind.GAUGE,
    Unit.BYTES,
    (),
    "Memory of the exporter that is resident.",
    "/proc/self/statm",
)
PROCESS_OPEN_FDS = _own(
    "process_open_fds",
    Kind.GAUGE,
    Unit.COUNT,
    (),
    "File descriptors that the exporter holds open.",
    "/proc/self/fd",
    Profile.STANDARD,
)
