"""Numbers of events on hosts of several kinds, written in the formats that the kernel documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.host import Host
from exporter.perf import Event
from exporter.perfevents import IntelRaw, Named, cache, hardware
from tests.hosts import written

_DEVICES = "/sys/bus/event_source/devices"
_ARM = {
    f"{_DEVICES}/armv8_pmuv3_0/type": "8\n",
    f"{_DEVICES}/armv8_pmuv3_0/format/event": "config:0-15\n",
    f"{_DEVICES}/armv8_pmuv3_0/events/br_retired": "event=0x0021\n",
}
_INTEL = {
    f"{_DEVICES}/cpu/type": "4\n",
    f"{_DEVICES}/cpu/format/event": "config:0-7\n",
    f"{_DEVICES}/cpu/format/umask": "config:8-15\n",
    f"{_DEVICES}/cpu/format/cmask": "config:24-31\n",
    f"{_DEVICES}/cpu/format/edge": "config:18\n",
    f"{_DEVICES}/cpu/format/ldlat": "config1:0-15\n",
    f"{_DEVICES}/cpu/events/stalls": "event=0xa3,umask=0x4,cmask=4\n",
    f"{_DEVICES}/cpu/events/entries": "event=0xa3,edge\n",
    f"{_DEVICES}/cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3\n",
    f"{_DEVICES}/cpu/events/broken": "event=banana\n",
    f"{_DEVICES}/cpu/events/too-wide": "event=0x1a3\n",
}


def _cpuinfo(vendor: str, family: int, model: int) -> str:
    one = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X 63\n\n"
    return one + one.replace("processor\t: 0", "processor\t: 1")


def test_generic_events_are_numbered_as_in_the_kernels_header(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert hardware(9).on(host) == Event(0, 9)
    assert cache(2, 0, 1).on(host) == Event(3, 0x10002)
    assert cache(3, 1, 1).on(host) == Event(3, 0x10103)


def test_named_event_is_found_below_a_source_whose_name_differs_between_kernels(tmp_path: Path) -> None:
    assert Named("armv8_*", "br_retired").on(written(tmp_path, _ARM)) == Event(8, 0x21)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("stalls", 0x40004A3),
        ("entries", 0x400A3),
        ("mem-loads", None),
        ("broken", None),
        ("too-wide", None),
        ("missing", None),
    ],
)
def test_terms_go_where_the_formats_put_them_or_the_event_is_not_used(
    name: str, config: int | None, tmp_path: Path
) -> None:
    event = Named("cpu", name).on(written(tmp_path, _INTEL))
    assert event == (None if config is None else Event(4, config))


@pytest.mark.parametrize(
    ("vendor", "family", "model", "there"),
    [("GenuineIntel", 6, 143, True), ("GenuineIntel", 6, 28, False), ("AuthenticAMD", 25, 143, False)],
    ids=["a Xeon of the list", "another model", "another vendor"],
)
def test_raw_event_is_used_on_the_models_that_have_it(
    vendor: str, family: int, model: int, there: bool, tmp_path: Path
) -> None:
    host = written(tmp_path, {"/proc/cpuinfo": _cpuinfo(vendor, family, model)})
    assert (IntelRaw(0x40004A3, frozenset({"143"})).on(host) is not None) == there


def test_raw_event_is_not_used_where_nothing_is_known_of_the_cpu(tmp_path: Path) -> None:
    assert IntelRaw(1, frozenset({""})).on(written(tmp_path, {"/proc/cpuinfo": "processor\t: 0\n"})) is None
