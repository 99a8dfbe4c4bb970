"""GPUs as tests see them: collectors of a machine that a stand-in for NVIDIA's library makes up."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.family import Family, Profile
from catalog.series import Series
from exporter.collector import Collector, Context, discover
from exporter.host import Host

KINDS = discover()


def collector(name: str, profile: Profile = Profile.FULL, kmsg: str = "/nowhere/kmsg") -> Collector:
    """A collector of this machine."""
    return KINDS[name](Context(Host(), profile, kmsg=kmsg))


def readings(one: Collector) -> dict[Series, float]:
    """One read, by series."""
    values = one.read()
    assert len(values) == len(one.series)
    assert len(set(one.series)) == len(one.series), "a series stands twice"
    return dict(zip(one.series, map(float, values), strict=True))


def of(values: Mapping[Series, float], family: Family) -> dict[str, float]:
    """The values of one family by its labels, joined by commas."""
    found = {series: value for series, value in values.items() if series.name == family.name}
    return {",".join(value for _, value in series.labels): value for series, value in found.items()}
