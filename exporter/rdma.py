"""Collectors of files of RDMA ports: https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import ClassVar

from catalog.family import Family
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DEVICES = "/sys/class/infiniband"
PORTS = f"{_DEVICES}/*/ports/*"
_NOT_COUNTED = b"N/A"


class RdmaCollector(AttributeCollector):
    """A subclass says which files there are below a port's directory, and what of their text is the number.

    Virtual ports have ``N/A`` for most counters, those made in software for all of them, which is no fault. Each driver
    has hardware counters of its own.
    """

    watches = (_DEVICES,)
    absent = "no InfiniBand or RoCE adapter"
    fields: ClassVar[Mapping[str, tuple[Family, float]]]

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The files of each port."""
        for port in context.host.glob(PORTS):
            *_, device, _, number = port.split("/")
            for file, (family, factor) in self.fields.items():
                if context.wants(family):
                    yield Attribute(f"{port}/{file}", family(device, number), factor, self.number)

    def number(self, data: bytes) -> float:
        """What a file's text says, NaN for what the port does not count; ValueError for anything else."""
        return nan if data.startswith(_NOT_COUNTED) else float(data)
