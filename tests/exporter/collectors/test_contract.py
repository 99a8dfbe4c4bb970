"""What holds for each collector, on the host where it has something to read; whatever is in the files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.family import Kind, Profile
from exporter.collector import Collector, Unavailable, discover
from exporter.collectors.nicevents import NiceventsCollector
from exporter.collectors.nvmehealth import NvmehealthCollector
from exporter.collectors.xid import XidCollector
from exporter.gpus import NvmlCollector
from exporter.host import Host
from exporter.perfcounters import PerfCollector
from tests.exporter.spoiling import edits
from tests.hosts import captured_vm, context
from tests.hosts.hardware import hardware
from tests.properties import PROPERTY

# No files can stand in for system calls: collectors that make them have tests of their own.
CALLERS = (PerfCollector, NiceventsCollector, NvmehealthCollector, NvmlCollector, XidCollector)
COLLECTORS = {name: kind for name, kind in discover().items() if not issubclass(kind, CALLERS)}
HARDWARE = {
    "aer", "bonding", "cgroup", "edac", "hwmon", "nvme", "rapl", "schedstat", "throttle", "rdmaport", "rdmaerrors",
    "rdmalink", "cpufreq", "md", "memoryfailure", "nfs", "numadistance", "nvmestate", "pcielink", "rdmainfo", "thermal",
    "cgrouplimits", "irqaffinity", "buddyinfo", "cooling", "cpufrequency", "edacinfo", "rapllimits", "thpsize",
}  # fmt: skip
CLEAR = (OSError, ValueError, Unavailable)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    vm, bare_metal = captured_vm(tmp_path_factory.mktemp("vm")), hardware(tmp_path_factory.mktemp("hardware"))
    return {name: bare_metal if name in HARDWARE else vm for name in COLLECTORS}


def _holds(collector: Collector, values: Sequence[float]) -> None:
    assert len(values) == len(collector.series)
    assert len({*collector.series}) == len(collector.series), "a series stands twice"
    families = {family.name: family for family in collector.families}
    for series, value in zip(collector.series, values, strict=True):
        family = families[series.name]
        assert tuple(label for label, _ in series.labels) == family.labels
        assert isinstance(value, int | float)
        assert not math.isinf(value)
        assert math.isnan(value) or value >= 0 or family.kind is Kind.GAUGE, f"{series} {value}"


@pytest.mark.parametrize("name", COLLECTORS)
def test_reads_one_finite_value_for_each_series_and_the_same_again(name: str, hosts: dict[str, Host]) -> None:
    collector = COLLECTORS[name](context(hosts[name]))
    first = list(collector.read())
    _holds(collector, first)
    assert collector.series, "there is something to read on this host"
    layout = collector.series
    _holds(collector, collector.read())
    assert collector.series is layout, "an equal layout stays the same tuple"
    collector.close()
    collector.close()


@pytest.mark.parametrize("name", COLLECTORS)
def test_profile_decides_which_families_are_read(name: str, hosts: dict[str, Host]) -> None:
    for profile in Profile:
        ctx = context(hosts[name], profile)
        if not any(map(ctx.wants, COLLECTORS[name].families)):
            continue
        collector = COLLECTORS[name](ctx)
        collector.read()
        wanted = {family.name for family in collector.families if ctx.wants(family)}
        assert {series.name for series in collector.series} <= wanted
        collector.close()


@pytest.mark.parametrize("name", [name for name, kind in COLLECTORS.items() if kind.sources])
def test_bare_host_turns_it_off_with_a_reason(name: str, tmp_path: Path) -> None:
    host = Host(tmp_path / "proc", tmp_path / "sys", tmp_path)
    if name == "hostinfo":  # even a host that tells nothing of itself is one host
        assert len(COLLECTORS[name](context(host)).series) == 1
        return
    with pytest.raises(Unavailable, match="/"):
        COLLECTORS[name](context(host))


@pytest.mark.parametrize("name", [name for name, kind in COLLECTORS.items() if kind.sources])
@settings(PROPERTY, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoiled_files_never_give_wrong_labels_or_another_error(
    name: str, hosts: dict[str, Host], data: st.DataObject
) -> None:
    host, kind = hosts[name], COLLECTORS[name]
    collector = kind(context(host))
    collector.read()
    before = {*collector.series}
    paths = [path for source in kind.sources for path in host.glob(source) if Path(host.locate(path)).is_file()]
    place = Path(host.locate(data.draw(st.sampled_from(paths), "file")))
    original, edit = place.read_bytes(), data.draw(edits(), "edit")
    try:
        place.write_bytes(edit(original))
        with suppress(*CLEAR):
            _holds(collector, collector.read())
        with suppress(*CLEAR):
            _holds(*_anew(kind, host))
    finally:
        place.write_bytes(original)
    collector.read()
    assert {*collector.series} == before, "recovers with the file"
    collector.close()


def _anew(kind: type[Collector], host: Host) -> tuple[Collector, Sequence[float]]:
    collector = kind(context(host))
    values = collector.read()
    collector.close()
    return collector, values
