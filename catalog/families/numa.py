"""Memory families of how NUMA nodes lie to one another.

Format: https://docs.kernel.org/ABI/stable/sysfs-devices-node.html
"""

from __future__ import annotations

from catalog.family import Family, Kind, Profile, Subsystem, Tier, Unit

NUMA_DISTANCE = Family(
    "hostpulse_memory_numa_distance",
    Kind.GAUGE,
    Unit.COUNT,
    "How far memory of one node is from another, as the firmware says; 10 is a node to itself.",
    Subsystem.MEMORY,
    ("node", "to"),
    Tier.STATIC,
    Profile.FULL,
    "/sys/devices/system/node/node*/distance",
)
