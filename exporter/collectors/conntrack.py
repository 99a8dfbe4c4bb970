"""Connections that the packet filter tracks.

https://docs.kernel.org/networking/nf_conntrack-sysctl.html
"""

from __future__ import annotations

from catalog.families import network
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
_MAX = "/proc/sys/net/netfilter/nf_conntrack_max"


class ConntrackCollector(AttributeCollector):
    """Two files, there once the kernel's module for tracking is loaded."""

    name = "conntrack"
    tier = Tier.MEDIUM
    families = (network.CONNTRACK_ENTRIES, network.CONNTRACK_ENTRIES_LIMIT)
    sources = (_COUNT, _MAX)
    absent = "the kernel does not track connections"

    def attributes(self, context: Context) -> tuple[Attribute, ...]:
        """Connections now and at most."""
        del context
        return (
            Attribute(_COUNT, network.CONNTRACK_ENTRIES()),
            Attribute(_MAX, network.CONNTRACK_ENTRIES_LIMIT()),
        )
