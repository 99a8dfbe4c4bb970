"""Host files are read below the given roots, again and again, and say what is wrong when they cannot be."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import pytest

from exporter.host import FilesystemUse, Host, Vanished
from tests.hosts import written


def test_held_file_is_read_anew_each_time(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/loadavg": "0.1\n"})
    file = host.hold("/proc/loadavg")
    assert file.read() == b"0.1\n"
    written(tmp_path, {"/proc/loadavg": "0.25\n"})
    assert file.read() == b"0.25\n"
    file.close()


@pytest.mark.parametrize("size_bytes", [0, 1, 2047, 2048, 4095, 4096, 4097, 100_000])
def test_held_file_gives_files_of_any_size_whole(tmp_path: Path, size_bytes: int) -> None:
    contents = bytes(index % 251 for index in range(size_bytes))
    file = written(tmp_path, {"/proc/stat": contents}).hold("/proc/stat")
    assert [file.read(), file.read()] == [contents, contents]
    file.close()


def test_kernel_files_longer_than_one_read_are_whole() -> None:
    file = Host().hold("/proc/vmstat")
    words = file.read().split()
    file.close()
    assert len(words) % 2 == 0, "a file cut between two reads has a key without a value"
    assert all(word.isdigit() for word in words[1::2])


def test_record_longer_than_half_a_page_does_not_end_a_list_of_mounts(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 3800:
        folder /= "x" * 100
        folder.mkdir()
    with (folder / "mapped").open("w+b") as file:
        file.truncate(1 << 30)  # finds no gap between other mappings, and comes before them, after a few short records
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
            once, held = Host().read("/proc/self/maps"), Host().hold_mounts("/proc/self/maps")
            assert b"x/mapped" in once
            assert b"x/mapped" in held.read()
    held.close()


def test_file_that_is_not_there_vanished_with_its_path_as_on_the_host(tmp_path: Path) -> None:
    with pytest.raises(Vanished, match="No such file") as caught:
        Host(tmp_path).hold("/proc/pressure/irq")
    assert caught.value.filename == "/proc/pressure/irq"


def test_file_of_a_process_that_ended_vanished() -> None:
    child = os.fork()
    if child == 0:  # waits to be ended
        os.read(os.pipe()[0], 1)
        os._exit(0)
    file = Host().hold(f"/proc/{child}/stat")
    assert file.read().split()[0] == str(child).encode()
    os.kill(child, 9)
    os.waitpid(child, 0)
    with pytest.raises(Vanished, match=str(child)):
        file.read()
    file.close()


def test_closed_file_is_opened_again_by_the_next_read(tmp_path: Path) -> None:
    file = written(tmp_path, {"/sys/class/net/eth0/mtu": "1500\n"}).hold("/sys/class/net/eth0/mtu")
    file.close()
    assert file.read() == b"1500\n"
    file.close()


def test_directory_in_place_of_a_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "stat").mkdir()
    file = Host(tmp_path).hold("/proc/stat")
    with pytest.raises(IsADirectoryError, match="/proc/stat"):
        file.read()
    file.close()


def test_refusal_names_the_capability_that_is_missing(tmp_path: Path) -> None:
    host = written(tmp_path, {"/sys/class/powercap/intel-rapl:0/energy_uj": "1\n"})
    (tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj").chmod(0)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:  # root may read everything: become nobody
            os.setresuid(65534, 65534, 65534)
        try:
            host.read("/sys/class/powercap/intel-rapl:0/energy_uj")
        except PermissionError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as said:
        message = said.read()
    assert "CAP_DAC_READ_SEARCH" in message
    assert "/sys/class/powercap/intel-rapl:0/energy_uj" in message


def test_paths_are_located_below_their_roots(tmp_path: Path) -> None:
    host = Host("/host/proc", tmp_path / "sys", "/host/rootfs/")
    assert host.locate("/proc/stat") == "/host/proc/stat"
    assert host.locate("/sys/class/net") == f"{tmp_path}/sys/class/net"
    assert host.locate("/etc/os-release") == "/host/rootfs/etc/os-release"
    assert host.locate("/processes") == "/host/rootfs/processes", "only whole parts of a path count"
    with pytest.raises(AssertionError, match="start at its root"):
        host.locate("proc/stat")


def test_network_of_another_host_is_that_of_its_first_process(tmp_path: Path) -> None:
    (tmp_path / "1" / "net").mkdir(parents=True)
    assert Host(tmp_path).locate("/proc/net/dev") == f"{tmp_path}/1/net/dev"


def test_network_of_another_host_without_processes_is_where_it_always_is(tmp_path: Path) -> None:
    assert Host(tmp_path).locate("/proc/net/dev") == f"{tmp_path}/net/dev"


def test_our_own_network_is_that_of_our_namespace() -> None:
    assert Host().locate("/proc/net/dev") == "/proc/net/dev"


def test_glob_answers_in_paths_of_the_host_and_in_order_of_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "odd [1] *"
    host = written(folder, {f"/sys/devices/system/cpu/cpu{number}/online": "1\n" for number in (10, 2, 1)})
    assert host.glob("/sys/devices/system/cpu/cpu*/online") == [
        f"/sys/devices/system/cpu/cpu{number}/online" for number in (1, 2, 10)
    ]
    assert host.glob("/sys/devices/system/cpu/cpu7/online") == []


def test_text_is_stripped_and_falls_back_only_where_asked_to(tmp_path: Path) -> None:
    host = written(tmp_path, {"/sys/class/net/eth0/duplex": b"full \n\0", "/sys/class/net/eth0/name": b"\xff\n"})
    assert host.text("/sys/class/net/eth0/duplex") == "full"
    assert host.text("/sys/class/net/eth0/name") == "\N{REPLACEMENT CHARACTER}"
    assert host.text("/sys/class/net/eth1/duplex", "unknown") == "unknown"
    with pytest.raises(Vanished, match="eth1"):
        host.text("/sys/class/net/eth1/duplex")


def test_links_are_followed_within_the_host(tmp_path: Path) -> None:
    host = written(tmp_path, {"/sys/devices/pci/0000:01:00.0/net/eth0/mtu": "1500\n"})
    (tmp_path / "sys/class/net").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0").symlink_to("../../devices/pci/0000:01:00.0/net/eth0")
    assert host.real_path("/sys/class/net/eth0/mtu") == "/sys/devices/pci/0000:01:00.0/net/eth0/mtu"
    assert host.resolve("/sys/class/net/eth0/mtu") == (
        "/sys/devices/pci/0000:01:00.0/net/eth0/mtu",
        [("/sys/class/net/eth0", "/sys/devices/pci/0000:01:00.0/net/eth0")],
    )
    assert host.names("/sys/class/net") == ("eth0",)
    assert host.names("/sys/class/infiniband") == ()


def test_names_may_hold_any_digit_that_there_is(tmp_path: Path) -> None:
    names = ("eth2", "eth10", "eth10²")  # the last is a digit to some, and no part of a number
    host = written(tmp_path, {f"/sys/class/net/{name}/mtu": "1500\n" for name in names})
    assert host.names("/sys/class/net") == names


def test_filesystem_is_measured_where_the_root_is(tmp_path: Path) -> None:
    use = Host(rootfs=tmp_path).statvfs("/")
    assert 0 <= use.avail_bytes <= use.free_bytes <= use.size_bytes
    with pytest.raises(OSError, match="/nowhere") as caught:
        Host(rootfs=tmp_path).statvfs("/nowhere")
    assert caught.value.errno == errno.ENOENT


def test_measuring_otherwise_leaves_the_host_as_it_was(tmp_path: Path) -> None:
    host, use = Host(rootfs=tmp_path), FilesystemUse(1, 1, 1, 1, 1)
    assert host.measuring(lambda _: use).statvfs("/") == use
    assert host.statvfs("/") != use


def test_capture_is_not_this_machine_and_its_own_files_mounted_elsewhere_are(tmp_path: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    assert Host().live
    assert not Host(tmp_path).live
    assert Host(tmp_path / "mounted").live is False
    assert written(tmp_path / "mounted", {"/proc/sys/kernel/random/boot_id": boot}).live
    assert not written(tmp_path / "other", {"/proc/sys/kernel/random/boot_id": boot[::-1]}).live
