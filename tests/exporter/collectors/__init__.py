"""What a collector reads on a host, for tests of collectors."""

from __future__ import annotations

from catalog.family import Profile
from exporter.collector import Collector, discover
from exporter.host import Host
from tests.hosts import context


def opened(name: str, host: Host, profile: Profile = Profile.FULL) -> Collector:
    """The collector of that name on a host."""
    return discover()[name](context(host, profile))


def latest(collector: Collector) -> dict[str, float]:
    """One more reading: values by the text of their series, its prefix left out."""
    values = collector.read()
    assert len(values) == len(collector.series)
    return {
        str(series).removeprefix("hostpulse_"): value for series, value in zip(collector.series, values, strict=True)
    }


def reading(name: str, host: Host, profile: Profile = Profile.FULL) -> dict[str, float]:
    """One reading of a collector that is opened for it."""
    collector = opened(name, host, profile)
    try:
        return latest(collector)
    finally:
        collector.close()
