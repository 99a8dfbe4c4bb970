"""Whose metrics can be judged: our exporter's own, and those that others tell of a host in names of theirs.

https://github.com/prometheus/node_exporter, https://github.com/NVIDIA/dcgm-exporter.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.families.exporter import BUILD_INFO
from catalog.families.gpu import TEMPERATURE_CELSIUS
from catalog.families.memory import TOTAL_BYTES


@dataclass(frozen=True, slots=True)
class Exporter:
    """A program that tells of a host.

    ``prefix`` begins the names of its metrics, ``marker`` is one that each of its targets has, in few series.
    """

    name: str
    prefix: str
    marker: str


OWN = Exporter("hostpulse-exporter", "hostpulse_", BUILD_INFO.name)
NODE_EXPORTER = Exporter("node_exporter", "node_", TOTAL_BYTES.aliases[0].name)
DCGM_EXPORTER = Exporter("dcgm-exporter", "DCGM_", TEMPERATURE_CELSIUS.aliases[0].name)
EXPORTERS = (OWN, NODE_EXPORTER, DCGM_EXPORTER)
"""Who is asked first: what several tell of one host counts as the first one tells it."""
