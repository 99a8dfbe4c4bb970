"""Network families of drivers' own counters and of bonds.

https://docs.kernel.org/networking/statistics.html#ethtool, https://docs.kernel.org/networking/bonding.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit

NIC_EVENTS = Family(
    "hostpulse_network_nic_events_total",
    Kind.COUNTER,
    Unit.COUNT,
    "What a network card's driver counts under this name: discards, pauses, congestion marks, link errors.",
    Subsystem.NETWORK,
    ("device", "event"),
    Tier.SLOW,
    Profile.STANDARD,
    "SIOCETHTOOL ETHTOOL_GSTATS, by an allow-list",
)
BONDING_SLAVES = Family(
    "hostpulse_network_bonding_slaves",
    Kind.GAUGE,
    Unit.COUNT,
    "Links of each bond: how many it has (configured) and how many of them work (active).",
    Subsystem.NETWORK,
    ("master", "state"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/class/net/*/bonding/slaves, /sys/class/net/*/bonding_slave/mii_status",
    (
        Alias("node_bonding_slaves", adds={"state": "configured"}),
        Alias("node_bonding_active", adds={"state": "active"}),
    ),
)
