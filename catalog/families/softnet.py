"""Network families of each CPU's work on received packets.

Format: softnet_seq_show in https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/core/net-procfs.c
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _softnet(name: str, column: int, help_text: str, alias: str, profile: Profile = Profile.CORE) -> Family:
    """A counter of the packet processing of one CPU."""
    source, aliases = f"/proc/net/softnet_stat column {column}", (Alias(alias),)
    labels = ("cpu",)
    return Family(
        name, Kind.COUNTER, Unit.COUNT, help_text, Subsystem.NETWORK, labels, Tier.FAST, profile, source, aliases
    )


SOFTNET_PROCESSED = _softnet(
    "hostpulse_network_softnet_processed_total",
    0,
    "Received packets that each CPU worked on.",
    "node_softnet_processed_total",
    Profile.STANDARD,
)
SOFTNET_DROPPED = _softnet(
    "hostpulse_network_softnet_dropped_total",
    1,
    "Received packets dropped because the CPU's backlog was full.",
    "node_softnet_dropped_total",
)
SOFTNET_TIME_SQUEEZED = _softnet(
    "hostpulse_network_softnet_time_squeezed_total",
    2,
    "How often a CPU had to stop before all received packets were worked on.",
    "node_softnet_times_squeezed_total",
)
SOFTNET_BACKLOG_PACKETS = Family(
    "hostpulse_network_softnet_backlog_packets",
    Kind.GAUGE,
    Unit.COUNT,
    "Received packets that wait for the CPU at this instant.",
    Subsystem.NETWORK,
    ("cpu",),
    Tier.FAST,
    Profile.FULL,
    "/proc/net/softnet_stat column 11",
    (Alias("node_softnet_backlog_len"),),
)
