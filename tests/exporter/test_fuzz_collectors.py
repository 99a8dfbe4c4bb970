"""Whatever the files of a host hold: no collector breaks the sampler, tells a wrong value, or costs another its own.

Every file that a collector names as its source is spoilt in turn, so that a new collector is covered by its tables.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog import FAMILIES
from catalog.families import cpu, ethtool, host
from catalog.family import Kind
from catalog.series import Series
from exporter.collector import Collector, discover
from exporter.host import Host
from exporter.perfcounters import PerfCollector
from exporter.slot import Slot
from exporter.tally import State
from tests.exporter import spoiling
from tests.hosts import captured_vm, context
from tests.hosts.hardware import hardware

MAKERS: tuple[Callable[[Path], Host], ...] = (captured_vm, hardware)
# No file can stand in for the system calls that count perf events; what they read files for is tested with them.
COLLECTORS = {name: kind for name, kind in discover().items() if kind.sources and not issubclass(kind, PerfCollector)}
# These count rows or words, so that less of them is less told, or have another file for the same where one is lost.
OTHERWISE = {
    family.name
    for family in (
        *(cpu.INTERRUPTS, cpu.INTERRUPTS_BY_CLASS, ethtool.BONDING_SLAVES, host.HWMON_POWER_WATTS),
        cpu.FREQUENCY_HERTZ,
        *(cpu.CORE_THROTTLES, cpu.CORE_THROTTLE_SECONDS, cpu.PACKAGE_THROTTLES, cpu.PACKAGE_THROTTLE_SECONDS),
    )
}
NAMES = re.compile(
    r".*/(name|\w+_label|constraint_\d+_name|(thermal_zone|cooling_device)\d+/type)"
)  # files whose whole text becomes a label

Values = dict[Series, float]


@dataclass(frozen=True)
class Case:
    """A collector on a host that has something for it to read."""

    name: str
    host: Host

    @property
    def kind(self) -> type[Collector]:
        return COLLECTORS[self.name]

    def slot(self) -> Slot:
        """The collector as the sampler has it, which tries at each sample to build anew what fails."""
        slot = Slot(self.kind, context(self.host), retry_s=0.0)
        slot.start()
        return slot

    def files(self, *, all_of_them: bool = False) -> list[Path]:
        """The files that it reads: the first and the last of each of its sources."""
        found: dict[Path, None] = {}
        for source in self.kind.sources:
            places = [Path(self.host.locate(path)) for path in self.host.glob(source)]
            real = [place.resolve() for place in places if place.is_file()]
            found |= dict.fromkeys(real if all_of_them else real[:1] + real[-1:])
        return list(found)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that others than us can look into, as those of pytest are not."""
    place = Path(tempfile.mkdtemp(prefix="spoilt-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def hosts(folder: Path) -> dict[str, Host]:
    return {make.__name__: make(folder / make.__name__) for make in MAKERS}


@pytest.fixture(scope="module")
def cases(hosts: dict[str, Host]) -> dict[str, list[Case]]:
    """For each collector the hosts that have something for it."""
    found = {name: [Case(name, host) for host in hosts.values()] for name in COLLECTORS}
    return {name: [case for case in both if case.slot().health.state is State.ON] for name, both in found.items()}


def _sampled(slot: Slot) -> Values:
    series, values = slot.sample(0.0)
    found = dict(zip(series, values, strict=True))
    assert len(found) == len(series), f"{slot.name}: a series stands twice"
    return found


def _fresh(case: Case) -> Values:
    slot = case.slot()
    found = _sampled(slot)
    slot.close()
    return found


def _wrong(found: Values, truth: Values, *, largest: bool = False) -> dict[str, str]:
    """What is told otherwise than by the whole files: other series, or other values where there is one."""
    wrong = {}
    for series, value in found.items():
        family = FAMILIES[series.name]
        assert tuple(label for label, _ in series.labels) == family.labels
        assert not math.isinf(value), f"{series} {value}"
        assert not value < 0.0 or family.kind is Kind.GAUGE, f"{series} {value}"
        if family.kind is Kind.INFO:  # its labels are what files say
            continue
        if series not in truth:
            wrong[str(series)] = "no such series"
        elif not (math.isnan(value) or value == truth[series] or series.name in OTHERWISE or (largest and value > 1e9)):
            wrong[str(series)] = f"{value}, not {truth[series]}"
    return wrong


def _cut(data: bytes, original: bytes) -> bool:
    """Whether the last line has lost its end, which only who saw the whole file before can tell."""
    return original.endswith(b"\n") and data != b"" and not data.endswith(b"\n")


@pytest.mark.parametrize("name", COLLECTORS)
def test_there_is_a_host_for_each_collector(name: str, cases: dict[str, list[Case]]) -> None:
    assert [case for case in cases[name] if case.files()] != []


@pytest.mark.parametrize("ways", [spoiling.cuts, spoiling.shortened], ids=["cut", "shortened"])
@pytest.mark.parametrize("name", COLLECTORS)
def test_part_of_a_file_tells_part_of_what_the_whole_tells(
    name: str, ways: Callable[[bytes], Iterator[spoiling.Spoilt]], cases: dict[str, list[Case]]
) -> None:
    assert _spoilt(cases[name], ways) == {}


@pytest.mark.parametrize("ways", [spoiling.impossible, spoiling.misplaced, spoiling.nonsense])
@pytest.mark.parametrize("name", COLLECTORS)
def test_what_cannot_be_is_left_out_and_the_rest_stays_right(
    name: str, ways: Callable[[bytes], Iterator[spoiling.Spoilt]], cases: dict[str, list[Case]]
) -> None:
    assert _spoilt(cases[name], ways) == {}


def _spoilt(cases: list[Case], ways: Callable[[bytes], Iterator[spoiling.Spoilt]]) -> dict[str, dict[str, str]]:
    """What is told wrongly when each file is spoilt in each of these ways, before it is opened or afterwards."""
    wrong: dict[str, dict[str, str]] = {}
    for case in cases:
        held = case.slot()
        truth = _sampled(held)
        for place in case.files():
            original = place.read_bytes()
            for spoilt in ways(original):
                with spoiling.contents(place, spoilt.data):
                    readings = [_sampled(held), *([] if _cut(spoilt.data, original) else [_fresh(case)])]
                if not NAMES.fullmatch(str(place)):
                    largest = spoiling.LARGEST in spoilt.data
                    complaints = [_wrong(found, truth, largest=largest) for found in readings]
                    wrong |= {f"{place}: {spoilt.how}": complaint for complaint in complaints if complaint}
                assert _sampled(held).keys() == truth.keys(), f"{place}: {spoilt.how}: does not recover"
        held.close()
    return wrong


@pytest.mark.parametrize("way", [spoiling.missing, spoiling.directory, spoiling.loop, spoiling.refused])
@pytest.mark.parametrize("name", COLLECTORS)
def test_file_that_cannot_be_read_costs_what_it_tells_alone(
    name: str, way: Callable[[Path], AbstractContextManager[None]], cases: dict[str, list[Case]]
) -> None:
    wrong: dict[str, dict[str, str]] = {}
    for case in cases[name]:
        held = case.slot()
        truth = _sampled(held)
        for place in case.files():
            with way(place):
                readings = [_sampled(held), _fresh(case)]
            if not NAMES.fullmatch(str(place)):
                wrong |= {str(place): complaint for found in readings if (complaint := _wrong(found, truth))}
            assert _sampled(held).keys() == truth.keys(), f"{place}: does not recover"
        held.close()
    assert wrong == {}


@pytest.mark.parametrize("make", MAKERS)
def test_spoilt_file_costs_no_collector_that_does_not_name_it(
    make: Callable[[Path], Host], cases: dict[str, list[Case]], hosts: dict[str, Host]
) -> None:
    there = {case.name: case for both in cases.values() for case in both if case.host is hosts[make.__name__]}
    slots = {name: case.slot() for name, case in there.items()}
    truths = {name: _sampled(slot) for name, slot in slots.items()}
    readers: dict[Path, set[str]] = {}
    for name, case in there.items():
        for place in case.files(all_of_them=True):
            readers.setdefault(place, set()).add(name)
    assert len(readers) >= 30
    for place, names in readers.items():
        original = place.read_bytes()
        for data in (b"", original[: len(original) // 2], bytes(range(256))):
            with spoiling.contents(place, data):
                lost = [name for name in there.keys() - names if not _same(_sampled(slots[name]), truths[name])]
            assert lost == [], f"{place} is named by {names} alone"
    for slot in slots.values():
        slot.close()


def _same(found: Values, truth: Values) -> bool:
    return found.keys() == truth.keys() and all(
        value == truth[series] or (math.isnan(value) and math.isnan(truth[series])) for series, value in found.items()
    )


def test_collectors_that_fail_again_and_again_leave_no_file_open(cases: dict[str, list[Case]]) -> None:
    first = [both[0] for both in cases.values()]
    for case in first:
        _fresh(case)
    before = len(os.listdir("/proc/self/fd"))
    for case in first:
        place = case.files()[0]
        with spoiling.contents(place, b"\0"):
            for _ in range(3):
                _fresh(case)
    assert len(os.listdir("/proc/self/fd")) <= before
