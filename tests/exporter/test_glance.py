"""What shows early that a host is unsettled is the same as what is parsed later."""

from __future__ import annotations

import pytest

from catalog.families import cpu, host, memory, network
from catalog.series import Series
from exporter.collector import Context, PartedCollector, discover
from exporter.engine import Engine
from exporter.host import Host
from exporter.settings import Settings
from exporter.slot import Slot
from tests.exporter.tiny import Script, scripted

GLANCED = {
    name: kind
    for name, kind in discover().items()
    if issubclass(kind, PartedCollector) and kind.glance is not PartedCollector.glance
}
SHOWN = {
    "netstat": {network.TCP_RETRANSMITTED_SEGMENTS()},
    "pressure": {host.PRESSURE_WAITING_SECONDS(resource) for resource in ("cpu", "io", "memory")},
    "stat": {host.CONTEXT_SWITCHES()},
    "vmstat": {memory.MAJOR_PAGE_FAULTS()},
}


def test_some_collectors_of_the_fast_tier_have_something_to_show() -> None:
    assert GLANCED.keys() == SHOWN.keys()


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_glance_shows_what_parsing_tells(name: str) -> None:
    slot = next(slot for slot in Engine(Settings(), GLANCED).slots if slot.name == name)
    if slot.off:
        pytest.skip(f"not on this host: {slot.health.reason}")
    taken = slot.take(0.0)
    glanced = slot.glance(taken)
    reading = slot.finish(taken, 0.0)
    told = dict(zip(reading.series, reading.values, strict=True))
    expected = [told[series] for series in SHOWN[name] if series in told]
    assert expected
    in_seconds = [count / 1e6 if name == "pressure" else count for count in glanced]
    assert set(expected) <= set(in_seconds)


def test_idle_time_is_that_of_all_cpus() -> None:
    (slot,) = Engine(Settings(), {"stat": GLANCED["stat"]}).slots
    taken = slot.take(0.0)
    idle, _ = slot.glance(taken)
    reading = slot.finish(taken, 0.0)
    by_series = dict(zip(reading.series, reading.values, strict=True))
    idle_s = sum(value for series, value in by_series.items() if _is_idle(series))
    assert idle / Host().ticks_per_second == pytest.approx(idle_s, abs=0.011 * len(by_series))


def _is_idle(series: Series) -> bool:
    return series.name == cpu.SECONDS.name and series.label("mode") == "idle"


@pytest.mark.parametrize("taken", [b"", b"cpu\n", b"\nctxt x\n", [], [b"some"], [b"\nTcp:\nTcp:\n"], None])
@pytest.mark.parametrize("name", sorted(SHOWN))
def test_what_is_of_no_known_format_shows_nothing(name: str, taken: object) -> None:
    slot = Slot(GLANCED[name], Context(Host()))
    assert not any(value != value for value in slot.glance(taken))
    assert len(slot.glance(taken)) == 0


def test_collector_that_reads_at_once_has_nothing_to_show() -> None:
    slot = next(iter(Engine(Settings(), {"tiny": scripted("tiny", GLANCED["stat"].tier, Script())}).slots))
    assert slot.glance(slot.take(0.0)) == ()
