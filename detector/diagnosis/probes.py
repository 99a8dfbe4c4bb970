"""Probes: what is looked at once something is found, and not judged by itself.

They are signals of families that not every exporter delivers, or that say something only beside others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.expression import level, rate, ratio, slope
from catalog.families import exporter, gpuhealth, network
from catalog.family import Subsystem, Tier
from catalog.signal import Role, Scale, Signal, Worse

PROBES: Mapping[str, Signal] = MappingProxyType(
    {
        probe.name: probe
        for probe in (
            Signal(
                "network_conntrack_used_ratio",
                "Part of the table of tracked connections that is in use.",
                ratio(level(network.CONNTRACK_ENTRIES), level(network.CONNTRACK_ENTRIES_LIMIT)),
                "ratio",
                Subsystem.NETWORK,
                Role.SATURATION,
                floor=0.05,
                scale=Scale.LINEAR,
            ),
            Signal(
                "cpu_clock_pace_ratio",
                "Seconds that the wall clock goes on by in one second: 1 unless it is stepped.",
                slope(exporter.SAMPLE_TIMESTAMP_SECONDS, tier=str(Tier.FAST)),
                "ratio",
                Subsystem.CPU,
                Role.STATE,
                floor=0.25,
                worse=Worse.EITHER,
                scale=Scale.LINEAR,
            ),
            Signal(
                "gpu_xid_by_number_per_second",
                "Errors that the driver reported, by their number.",
                rate(gpuhealth.XID_ERRORS),
                "1/s",
                Subsystem.GPU,
                Role.ERROR,
                floor=0.02,
            ),
        )
    }
)
