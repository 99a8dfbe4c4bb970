"""Files that kernels do write and that are easily read wrongly, each with the right value."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from catalog.families import network
from catalog.family import Profile
from exporter.collector import Unavailable, discover
from exporter.collectors.filesystem import mounts
from exporter.engine import Engine
from exporter.exposition import Format
from exporter.settings import Settings
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import context, written
from tests.hosts.hardware import hardware

NET_DEV = (
    b"Inter-|   Receive                                                |  Transmit\n"
    b" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    b"compressed\n"
)
SOME = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"
FULL = "full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"
NOT_A_STATE = "/sys/class/net/eth0/operstate"


def test_file_that_lost_its_last_newline_is_cut_and_its_last_number_another_one(tmp_path: Path) -> None:
    file = written(tmp_path, {"/proc/x": "Free: 12 kB\nDirty: 1052 kB\n"}).hold("/proc/x")
    assert file.read().endswith(b"1052 kB\n")
    written(tmp_path, {"/proc/x": "Free: 12 kB\nDirty: 10"})
    with pytest.raises(OSError, match="cut off") as caught:
        file.read()
    assert (caught.value.errno, caught.value.filename) == (errno.EBADMSG, "/proc/x")
    written(tmp_path, {"/proc/x": "Free: 13 kB\nDirty: 1053 kB\n"})
    assert file.read().endswith(b"1053 kB\n")


def test_file_that_never_ended_with_a_newline_is_whole(tmp_path: Path) -> None:
    file = written(tmp_path, {"/proc/x": "12"}).hold("/proc/x")
    assert file.read() == b"12"
    written(tmp_path, {"/proc/x": "3"})
    assert file.read() == b"3"


def test_names_that_are_not_utf_8_are_told_apart_and_can_be_scraped(tmp_path: Path) -> None:
    rows = b"eth\xfe: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth\xff: 9 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    mountinfo = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 8:1 / /d\xff rw - ext4 /dev/sd\xff rw\n"
    host = written(tmp_path, {"/proc/net/dev": NET_DEV + rows, "/proc/1/mountinfo": mountinfo})
    (tmp_path / "sys/class/net").mkdir(parents=True)
    for name in (b"eth\xfe", b"eth\xff"):
        directory = os.fsencode(tmp_path / "sys/class/net") + b"/" + name
        os.mkdir(directory)
        with open(directory + b"/carrier_changes", "wb") as file:
            file.write(b"7\n")
    engine = Engine(Settings(interval_s=0.01, profile=Profile.STANDARD), host=host)
    engine.sampler.settle()
    families = {
        family.name: family for family in text_string_to_metric_families(engine.exposition(Format.TEXT).decode())
    }

    def told(name: str, label: str) -> dict[str, float]:
        return {sample.labels[label]: sample.value for sample in families[name].samples}

    received = network.RECEIVE_BYTES.name.removesuffix("_total")
    assert told(received, "device") == {"eth\\xfe": 1.0, "eth\\xff": 9.0}
    changes = network.CARRIER_CHANGES.name.removesuffix("_total")
    assert told(changes, "device") == {"eth\\xfe": 7.0, "eth\\xff": 7.0}, (
        "the same name from a file and from a directory"
    )
    assert told("hostpulse_storage_filesystem_device_error", "mountpoint")["/d\\xff"] == 1.0, "it is not there"


def test_pressure_file_that_only_gives_an_error_costs_its_own_resource(tmp_path: Path) -> None:
    host = written(tmp_path, {f"/proc/pressure/{name}": SOME + FULL for name in ("cpu", "io", "memory")})
    (tmp_path / "proc/pressure/irq").mkdir()  # as unreadable as the file of a kernel without accounting of interrupts
    collector = opened("pressure", host)
    assert latest(collector)['host_pressure_waiting_seconds_total{resource="io"}'] == 2.5
    assert "/proc/pressure/irq" in collector.note
    collector.close()


def test_kernel_booted_without_pressure_turns_it_off_with_the_reason(tmp_path: Path) -> None:
    for name in ("cpu", "io", "memory"):
        (tmp_path / "proc/pressure" / name).mkdir(parents=True)
    with pytest.raises(Unavailable, match=r"/proc/pressure/cpu: .*psi=1"):
        discover()["pressure"](context(written(tmp_path, {})))


def test_row_of_a_fast_interrupt_that_is_not_counted_costs_nothing(tmp_path: Path) -> None:
    rows = " CPU0 CPU1\n 27: 10 20 gpio1.bank 5 Edge eth0\nFIQ:     usb_fiq\nErr: 3\n"
    values = reading("interrupts", written(tmp_path, {"/proc/interrupts": rows}))
    assert values == {
        'cpu_interrupts_total{cpu="0"}': 10.0,
        'cpu_interrupts_total{cpu="1"}': 20.0,
        'cpu_interrupts_by_class_total{class="other"}': 33.0,
    }


@pytest.mark.parametrize(
    "row",
    ["27: 10 20 30 gic eth0", "27: 10 gic eth0", "27: 10 -20 gic eth0", "27: x 20 gic", "27 10 20 gic", "27: 10 20 30"],
)
def test_row_without_a_count_for_each_cpu_is_refused(row: str, tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/interrupts": f"  CPU0 CPU1\n 28: 1 2 gic eth1\n {row}\n"})
    with pytest.raises(ValueError, match="/proc/interrupts: the row b'27"):
        opened("interrupts", host)


def test_chips_of_one_device_are_told_apart_by_what_they_are_called(tmp_path: Path) -> None:
    files = {f"/sys/class/hwmon/hwmon{at}/name": f"radio_{at}\n" for at in (1, 2)}
    files |= {f"/sys/class/hwmon/hwmon{at}/name": "pmbus\n" for at in (3, 4)}
    files |= {f"/sys/class/hwmon/hwmon{at}/temp1_input": f"{at}0000\n" for at in (1, 2, 3, 4, 5)}
    host = written(tmp_path, {**files, "/sys/devices/pci/phy0/uevent": "", "/sys/devices/i2c/1-0040/uevent": ""})
    for at in (1, 2, 3, 4):
        device = "pci/phy0" if at < 3 else "i2c/1-0040"
        (tmp_path / f"sys/class/hwmon/hwmon{at}/device").symlink_to(f"../../../devices/{device}")
    chips = ("pci_phy0_radio_1", "pci_phy0_radio_2", "i2c_1_0040_hwmon3", "i2c_1_0040_hwmon4", "hwmon5")
    assert reading("hwmon", host) == {
        f'host_hwmon_temperature_celsius{{chip="{chip}",sensor="temp1",label=""}}': 10.0 * at
        for at, chip in enumerate(chips, 1)
    }


def test_mount_without_a_device_and_names_with_odd_characters_are_lines_like_others() -> None:
    rows = (
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:9 / /a\u2028b rw - fuse  rw\n29 27 0:7 / /c\x85 rw - xfs d ro\n"
    )
    assert [(mount.mountpoint, mount.device, mount.readonly) for mount in mounts(rows)] == [
        ("/", "/dev/vda", False),
        ("/c\x85", "d", True),
        ("/a\u2028b", "", False),
    ]


def test_link_in_a_state_that_is_not_known_is_neither_up_nor_down(tmp_path: Path) -> None:
    host = written(tmp_path, {NOT_A_STATE: "upp\n", "/sys/class/net/eth1/operstate": "dormant\n"})
    values = reading("netlink", host)
    assert math.isnan(values['network_up{device="eth0"}'])
    assert values['network_up{device="eth1"}'] == 0.0


def test_disk_row_that_lacks_a_column_does_not_name_a_disk_by_a_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="/proc/diskstats: has a row without the columns"):
        opened("diskstats", written(tmp_path, {"/proc/diskstats": "8 sda 1 2 3 4 5 6 7 8 9 10 11\n"}))


def test_throttling_of_a_cpu_whose_core_is_not_known_is_left_out(tmp_path: Path) -> None:
    host = hardware(tmp_path)
    (tmp_path / "sys/devices/system/cpu/cpu2/topology/core_id").unlink()
    values = reading("throttle", host)
    assert values['cpu_core_throttles_total{package="0",core="0"}'] == 5.0
    assert not any('package="1"' in series for series in values)


def test_times_without_the_line_that_sums_them_up_are_refused(tmp_path: Path) -> None:
    stat = "cpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 5 1\nctxt 7\n"
    with pytest.raises(ValueError, match="/proc/stat: its lines cpu"):
        opened("stat", written(tmp_path, {"/proc/stat": stat}))


def test_control_group_that_goes_while_it_is_looked_at_costs_no_other_group(tmp_path: Path) -> None:
    host = hardware(tmp_path)
    (tmp_path / "sys/fs/cgroup/gone.slice/cpu.stat").mkdir(parents=True)
    assert reading("cgroup", host)['cpu_cgroup_throttles_total{cgroup="system.slice"}'] == 2.0
