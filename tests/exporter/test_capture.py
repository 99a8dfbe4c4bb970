"""A capture holds what the collectors read, says nothing of whose host it was, and makes that host again."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.series import Series
from exporter.anonymous import Anonymous
from exporter.capture import capture, replay
from exporter.collector import Unavailable, discover
from exporter.host import Host, Vanished
from exporter.perfcounters import PerfCollector
from tests.hosts import VM, captured_vm, context, written
from tests.hosts.hardware import hardware
from tests.properties import PROPERTY

HEADING = "# hostpulse capture 1\n"
NAMED = ("hostinfo", "netinfo", "blockinfo")  # their labels are what a capture replaces


def _readings(host: Host) -> dict[str, dict[Series, float]]:
    found = {}
    for name, kind in discover().items():
        if not kind.sources or issubclass(kind, PerfCollector):  # no capture can answer a system call
            continue
        try:
            collector = kind(context(host))
        except Unavailable:
            continue
        values = collector.read()
        found[name] = dict(zip(collector.series, values, strict=True))
        collector.close()
    return found


def _same(one: dict[Series, float], other: dict[Series, float]) -> bool:
    return one.keys() == other.keys() and all(
        value == other[series] or (math.isnan(value) and math.isnan(other[series])) for series, value in one.items()
    )


@pytest.mark.parametrize("make", [captured_vm, hardware])
def test_replay_of_a_capture_gives_the_same_values(make: object, tmp_path: Path) -> None:
    assert callable(make)
    host = make(tmp_path / "first")
    again = replay(capture(context(host)), tmp_path / "second")
    before, after = _readings(host), _readings(again)
    assert before.keys() == after.keys()
    assert [name for name in before if not _same(before[name], after[name])] == []
    assert again.page_bytes == host.page_bytes


def test_capture_of_a_capture_is_the_capture(tmp_path: Path) -> None:
    text = capture(context(captured_vm(tmp_path / "first")))
    assert capture(context(replay(text, tmp_path / "second"))) == text


def test_replay_of_this_host_has_the_names_of_this_host(tmp_path: Path) -> None:
    text = capture(context(Host()))
    assert len(text) < 3_000_000
    live, replayed = _readings(Host()), _readings(replay(text, tmp_path))
    assert live.keys() == replayed.keys()
    for name in live.keys() - {*NAMED}:
        assert live[name].keys() == replayed[name].keys(), name


def test_captured_machine_has_all_that_it_had(tmp_path: Path) -> None:
    readings = _readings(captured_vm(tmp_path))
    series = [one for found in readings.values() for one in found]
    assert len({one.name for one in series}) >= 150
    assert len(series) >= 300
    assert VM.stat().st_size < 300_000


def test_capture_names_nobody(tmp_path: Path) -> None:
    mount = "40 27 0:41 / /data rw - nfs4 10.20.30.40:/export,addr=fd12:3456::7 rw\n"
    host = written(
        tmp_path,
        {
            "/proc/sys/kernel/hostname": "secret-host\n",
            "/proc/1/mountinfo": mount,
            "/sys/class/net/eth0/address": "b8:ce:f6:12:34:56\n",
            "/sys/class/net/ib0/address": "00:00:10:29:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:12:34:56\n",
            "/sys/class/net/lo/address": "00:00:00:00:00:00\n",
            "/sys/block/nvme0n1/device/serial": "S6XYZ123\n",
            "/sys/block/nvme0n1/device/model": "d41d8cd9-8f00-3204-a980-0998ecf8427e 127.0.0.1\n",
        },
    )
    text = capture(context(host))
    for secret in ("secret-host", "10.20.30.40", "fd12", "b8:ce:f6", "S6XYZ123", "d41d8cd9"):
        assert secret not in text, secret
    assert "|00:00:00:00:00:00\n" in text
    assert "|00000000-0000-4000-8000-000000000001 127.0.0.1\n" in text
    assert re.search(r"nfs4 198\.18\.0\.1:/export,addr=2001:db8::1 rw", text)


_MOUNTS = """\
1 0 253:0 / / rw,relatime shared:1 - ext4 /dev/mapper/node--17--vg-root rw,errors=remount-ro,stripe=64
2 1 0:41 / /data rw - nfs4 filer.example.com:/export rw,vers=4.2,clientaddr=10.0.0.9,addr=10.0.0.1,timeo=600
3 1 0:42 / /home rw - cifs //filer.example.com/home rw,username=alice,domain=EXAMPLE,uid=1000,size=24684084k
4 1 0:43 / /fast rw - lustre 10.0.0.5@o2ib:mds01@o2ib:/fast rw
5 1 0:44 / /mine rw - fuse.sshfs alice@filer.example.com:/home/a rw,user_id=0
"""


def test_mounts_name_no_server_no_user_and_no_volume_of_the_host(tmp_path: Path) -> None:
    stats = "device filer.example.com:/export mounted on /data with fstype nfs4 statvers=1.1\n"
    files = {"/proc/sys/kernel/hostname": "node-17.example.com\n", "/proc/1/mountinfo": _MOUNTS}
    host = written(tmp_path, {**files, "/proc/1/mountstats": stats})
    text = capture(context(host))
    for secret in ("example", "EXAMPLE", "alice", "mds01", "node", "10.0.0"):
        assert secret not in text, secret
    for shown in (
        "- ext4 /dev/mapper/host--vg-root rw,errors=,stripe=64\n",
        "- nfs4 server-1:/export rw,vers=4.2,clientaddr=,addr=,timeo=600\n",
        "- cifs //server-1/home rw,username=,domain=,uid=1000,size=24684084k\n",
        "- lustre 198.18.0.1@o2ib:server-2@o2ib:/fast rw\n",
        "device server-1:/export mounted on /data with",
    ):
        assert shown in text, shown
    again = capture(context(replay(text, tmp_path / "again")))
    assert again == text


def test_columns_of_a_recording_name_no_server() -> None:
    shown = Anonymous("node17").series(Series("x", (("device", "filer:/export"), ("mountpoint", "/data"))))
    assert shown.labels == (("device", "server-1:/export"), ("mountpoint", "/data"))
    assert (
        Anonymous("node17")
        .series(Series("x", (("device", "/dev/mapper/node17-data"),)))
        .labels[0][1]
        .endswith("/host-data")
    )


def test_equal_things_are_replaced_by_equal_ones() -> None:
    anonymous = Anonymous()
    first = anonymous.contents("/a", b"52:54:00:00:00:01 1.2.3.4 52:54:00:00:00:02\n")
    assert anonymous.contents("/b", b"52:54:00:00:00:02 1.2.3.4 52:54:00:00:00:01\n").split() == first.split()[::-1]


def test_versions_and_pci_addresses_stay_as_they_are() -> None:
    data = b"6.18.44-fc 0000:17:00.0 12:30:45 254:0 28.39.1002\n"
    assert Anonymous().contents("/proc/x", data) == data


@given(contents=st.binary(max_size=200))
@PROPERTY
def test_any_bytes_survive(contents: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("host")
    host = written(folder / "first", {"/proc/loadavg": contents})
    text = capture(context(host))
    assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) == {"\n"}
    replayed = replay(text, folder / "second")
    assert replayed.read("/proc/loadavg") == Anonymous().contents("/proc/loadavg", contents)


def test_what_may_not_be_read_or_is_too_long_is_named(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/stat": b"x" * (9 << 20), "/proc/loadavg": "1 2 3 4/5 6\n"})
    text = capture(context(host))
    assert "left out /proc/stat: 9437184 bytes are too many\n" in text
    assert replay(text, tmp_path / "again").text("/proc/loadavg") == "1 2 3 4/5 6"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("|a line", "belongs to no file"),
        ("folder /x", "is none of"),
        ("file etc/passwd", "not a path from the root"),
        ("file /proc/../../etc/passwd", "not a path from the root"),
        ("link /a -> /../b", "not a path from the root"),
        ("link /a", "not a path from the root"),
        ("statvfs 1 2 /", "line 2"),
        ("page_bytes many", "line 2"),
    ],
)
def test_line_that_is_wrong_is_named(line: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=complaint):
        replay(f"{HEADING}{line}\n", tmp_path)
    assert list(tmp_path.rglob("*")) == [], "nothing was written"


@pytest.mark.parametrize("line", ["link /a/b/c/out -> /etc", "file /a/b/c/file", "directory /a/b/c/folder"])
def test_nothing_is_unpacked_behind_a_link_as_it_could_lead_out(line: str, tmp_path: Path) -> None:
    unpacked = tmp_path / "host"
    unpacked.mkdir()
    with pytest.raises(ValueError, match=r"line 4 .* lies behind a link"):
        replay(f"{HEADING}directory /x\nlink /a/b/c -> /x\n{line}\n", unpacked)
    assert list((unpacked / "x").iterdir()) == []
    assert list(tmp_path.iterdir()) == [unpacked]


def test_two_slashes_lead_to_no_other_root(tmp_path: Path) -> None:
    outside, unpacked = tmp_path / "outside", tmp_path / "host"
    replay(f"{HEADING}file /{outside}\n", unpacked)
    assert not outside.exists()
    assert (unpacked / str(outside).removeprefix("/")).exists()


def test_file_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 3"):
        replay(f"{HEADING}file /a\nfile /a\n", tmp_path)


def test_another_text_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a capture"):
        replay("hello\n", tmp_path)


def test_replayed_host_knows_no_filesystem_but_those_captured(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    with pytest.raises(Vanished, match="/elsewhere"):
        host.statvfs("/elsewhere")
