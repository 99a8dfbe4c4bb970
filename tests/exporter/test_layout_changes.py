"""A device that comes or goes while the exporter runs: its tier goes on in a new segment, and nobody else loses any."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.family import Profile, Tier
from exporter.engine import Engine
from exporter.host import Host
from exporter.ring import Segment
from exporter.settings import Settings
from exporter.tally import State
from tests.exporter.tiny import Hands
from tests.hosts import captured_vm

OWN = frozenset({"build", "clock", "self"})  # what they tell is not of the host
TICKS = 3


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return captured_vm(tmp_path)


def _rewrite(host: Host, path: str, old: bytes, new: bytes) -> None:
    place = Path(host.locate(path))
    data = place.read_bytes()
    assert old in data, f"{path} has no {old!r}"
    place.write_bytes(data.replace(old, new))


def _line(host: Host, path: str, start: bytes) -> bytes:
    return next(line for line in host.read(path).splitlines(keepends=True) if line.lstrip().startswith(start))


class Running:
    """An engine on a captured host, ticked by hand."""

    def __init__(self, host: Host) -> None:
        self.hands = Hands()
        settings = Settings(profile=Profile.FULL, disabled=OWN)
        self.engine = Engine(settings, clock=self.hands.clock(), host=host)
        self._tick = 0

    def tick(self) -> None:
        """Some ticks of the fast tier, each with one of the medium tier."""
        for _ in range(TICKS):
            self.engine.sampler.tick(self._tick)
            self.hands.move(1.0)
            self._tick += 10

    def segments(self, tier: Tier = Tier.FAST) -> list[Segment]:
        """The segments of a tier by age."""
        return [segment for segment in self.engine.since(0.0) if segment.schema.tier is tier]

    def newest(self) -> dict[str, float]:
        """The newest value of each series of the fast and the medium tier."""
        rows = [(schema, row) for schema, row in self.engine.newest() if schema.tier in (Tier.FAST, Tier.MEDIUM)]
        return {name: value for schema, row in rows for name, value in zip(schema.names, row[1:], strict=True)}

    def failing(self) -> list[str]:
        """Collectors that do not work, or ever did not."""
        states = (State.ON, State.OFF)
        return [slot.name for slot in self.engine.slots if slot.health.state not in states or slot.health.errors]


def _plug_in_a_cpu(host: Host) -> None:
    _rewrite(host, "/proc/stat", line := _line(host, "/proc/stat", b"cpu1 "), line + line.replace(b"cpu1", b"cpu2"))
    softnet = host.read("/proc/net/softnet_stat").splitlines(keepends=True)[-1]
    columns = softnet.split()
    columns[12] = b"00000002"
    _rewrite(host, "/proc/net/softnet_stat", softnet, softnet + b" ".join(columns) + b"\n")
    rows = host.read("/proc/softirqs").splitlines()
    wider = [row + (b"       CPU2" if at == 0 else b"          5") for at, row in enumerate(rows)]
    Path(host.locate("/proc/softirqs")).write_bytes(b"\n".join(wider) + b"\n")
    for file in ("present", "online"):
        Path(host.locate(f"/sys/devices/system/cpu/{file}")).write_bytes(b"0-2\n")


def test_cpu_that_is_plugged_in_begins_a_new_segment_with_series_of_its_own(host: Host) -> None:
    running = Running(host)
    running.tick()
    before = running.newest()
    _plug_in_a_cpu(host)
    running.tick()
    after, segments = running.newest(), running.segments()
    assert running.failing() == []
    assert [segment.rows for segment in segments] == [TICKS, TICKS]
    fresh = {*segments[1].schema.names} - {*segments[0].schema.names}
    assert {name.partition("{")[0] for name in fresh} == {
        "hostpulse_cpu_seconds_total",
        "hostpulse_cpu_guest_seconds_total",
        "hostpulse_cpu_softirqs_total",
        "hostpulse_network_softnet_backlog_packets",
        "hostpulse_network_softnet_processed_total",
        "hostpulse_network_softnet_dropped_total",
        "hostpulse_network_softnet_time_squeezed_total",
    }
    assert all('cpu="2"' in name for name in fresh)
    assert {name: value for name, value in after.items() if name in before} == pytest.approx(before, nan_ok=True)


def test_node_of_a_gpus_memory_that_comes_with_its_driver_is_told_as_well(host: Host) -> None:
    nodes = Path(host.locate("/sys/devices/system/node"))
    (nodes / "online").write_bytes(b"0\n")
    running = Running(host)
    running.tick()
    before = running.newest()
    (nodes / "node1").mkdir()
    for file in ("numastat", "meminfo"):
        (nodes / "node1" / file).write_bytes((nodes / "node0" / file).read_bytes().replace(b"Node 0", b"Node 1"))
    (nodes / "online").write_bytes(b"0-1\n")
    running.tick()
    after = running.newest()
    assert running.failing() == []
    assert [segment.rows for segment in running.segments()] == [TICKS, TICKS]
    assert [segment.rows for segment in running.segments(Tier.MEDIUM)] == [TICKS, TICKS]
    fresh = after.keys() - before.keys()
    assert {name.replace('node="1"', 'node="0"') for name in fresh} == {
        name for name in before if name.startswith("hostpulse_memory_numa_") and 'node="0"' in name
    }
    assert {name: after[name] for name in before} == pytest.approx(before, nan_ok=True)


def test_cpu_that_is_taken_out_again_takes_its_own_series_alone(host: Host) -> None:
    paths = ("/proc/stat", "/proc/softirqs", "/proc/net/softnet_stat", "/sys/devices/system/cpu/present")
    two_cpus = {Path(host.locate(path)): host.read(path) for path in paths}
    running = Running(host)
    running.tick()
    before = running.newest()
    _plug_in_a_cpu(host)
    running.tick()
    for place, contents in two_cpus.items():
        place.write_bytes(contents)
    running.tick()
    first, _, last = running.segments()
    assert running.failing() == []
    assert (last.rows, last.schema.names) == (TICKS, first.schema.names)
    assert running.newest() == pytest.approx(before, nan_ok=True)


def test_interface_that_vanishes_takes_its_own_series_alone(host: Host) -> None:
    running = Running(host)
    running.tick()
    before = running.newest()
    _rewrite(host, "/proc/net/dev", _line(host, "/proc/net/dev", b"eth0:"), b"")
    link = Path(host.locate("/sys/class/net/eth0"))
    link.rename(link.with_name("veth0"))
    running.tick()
    after, segments = running.newest(), running.segments()
    assert running.failing() == []
    assert [segment.rows for segment in segments] == [TICKS, TICKS]
    gone = before.keys() - after.keys()
    assert {name.partition("{")[0] for name in gone} >= {
        "hostpulse_network_receive_bytes_total",
        "hostpulse_network_carrier_changes_total",
    }
    assert all('device="eth0"' in name for name in gone)
    assert after == pytest.approx({name: value for name, value in before.items() if name not in gone}, nan_ok=True)
