"""Storage sources: disks without their partitions, filesystems that hold data, each once."""

from __future__ import annotations

import math
from pathlib import Path
from threading import Event

import pytest

from catalog.family import Profile
from exporter.collectors.filesystem import mounts
from exporter.host import FilesystemUse
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import captured_vm, context, written
from tests.hosts.hardware import hardware

FIELDS = "100 1 8 2500 200 2 16 5000 3 7000 9000 11 12 24 1500 30 600"
MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 27 0:21 / /proc rw,relatime - proc proc rw
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684084k
28 27 0:27 / /run/user/0 rw,nosuid - tmpfs tmpfs rw
30 27 254:0 /var /srv/var rw,relatime shared:3 master:1 - ext4 /dev/vda rw
31 27 0:40 / /var/lib/docker/overlay2/ab/merged rw - overlay overlay rw
32 27 0:41 / /data\\040sets rw,relatime - nfs4 filer:/export\\040a rw
33 27 8:1 / /hidden rw - xfs /dev/sda1 rw
34 33 8:2 / /hidden rw - xfs /dev/sda2 rw
"""
USE = FilesystemUse(size_bytes=1000, free_bytes=500, avail_bytes=400, files=90, files_free=80)


def test_disks_turn_sectors_and_milliseconds_into_bytes_and_seconds(tmp_path: Path) -> None:
    rows = f" 259 0 nvme0n1 {FIELDS}\n 259 1 nvme0n1p1 {FIELDS}\n 7 0 loop0 {FIELDS}\n 253 0 zram0 {FIELDS}\n"
    assert reading("diskstats", written(tmp_path, {"/proc/diskstats": rows})) == {
        f'storage_{name}{{device="nvme0n1"}}': pytest.approx(value)
        for name, value in (
            ("reads_completed_total", 100),
            ("reads_merged_total", 1),
            ("read_bytes_total", 8 * 512),
            ("read_time_seconds_total", 2.5),
            ("writes_completed_total", 200),
            ("writes_merged_total", 2),
            ("written_bytes_total", 16 * 512),
            ("write_time_seconds_total", 5.0),
            ("io_now", 3),
            ("io_time_seconds_total", 7.0),
            ("io_time_weighted_seconds_total", 9.0),
            ("discards_completed_total", 11),
            ("discards_merged_total", 12),
            ("discarded_bytes_total", 24 * 512),
            ("discard_time_seconds_total", 1.5),
            ("flushes_completed_total", 30),
            ("flush_time_seconds_total", 0.6),
        )
    }


def test_disks_of_an_older_kernel_have_fewer_fields(tmp_path: Path) -> None:
    row = f"   8 0 sda {' '.join(FIELDS.split()[:11])}\n"
    values = reading("diskstats", written(tmp_path, {"/proc/diskstats": row}))
    assert len(values) == 11
    assert not any("flush" in name or "discard" in name for name in values)


def test_disk_that_comes_and_goes_is_followed(tmp_path: Path) -> None:
    collector = opened("diskstats", written(tmp_path, {"/proc/diskstats": f"8 0 sda {FIELDS}\n"}), Profile.CORE)
    written(tmp_path, {"/proc/diskstats": f"8 16 sdb {FIELDS}\n8 0 sda {FIELDS.replace('100', '101', 1)}\n"})
    values = latest(collector)
    assert values['storage_reads_completed_total{device="sdb"}'] == 100
    assert values['storage_reads_completed_total{device="sda"}'] == 101
    written(tmp_path, {"/proc/diskstats": ""})
    assert latest(collector) == {}, "a host without disks has an empty file"
    collector.close()


def test_requests_in_flight_and_their_limit_are_by_disk(tmp_path: Path) -> None:
    files = {
        "/sys/block/sda/inflight": "       4        7\n",
        "/sys/block/sda/queue/nr_requests": "256\n",
        "/sys/block/loop0/inflight": "0 0\n",
    }
    host = written(tmp_path, files)
    assert reading("inflight", host) == {
        'storage_inflight_requests{device="sda",op="read"}': 4,
        'storage_inflight_requests{device="sda",op="write"}': 7,
    }
    assert reading("blockqueue", host) == {'storage_queue_depth_limit{device="sda"}': 256}


def test_disk_tells_what_it_is_by_the_names_of_its_kind(tmp_path: Path) -> None:
    nvme, scsi = "/sys/block/nvme0n1", "/sys/block/sda"
    files = {
        f"{nvme}/device/model": "FAST 9000   \n",
        f"{nvme}/device/serial": "S1\n",
        f"{nvme}/device/firmware_rev": "F1\n",
        f"{nvme}/queue/rotational": "0\n",
        f"{nvme}/queue/scheduler": "[none] mq-deadline\n",
        f"{scsi}/device/model": "SPIN\n",
        f"{scsi}/device/rev": "R2\n",
        f"{scsi}/queue/rotational": "1\n",
        f"{scsi}/queue/scheduler": "none\n",
    }
    assert list(reading("blockinfo", written(tmp_path, files))) == [
        'storage_device_info{device="nvme0n1",model="FAST 9000",serial="S1",firmware="F1",rotational="0",'
        'scheduler="none",node=""}',
        'storage_device_info{device="sda",model="SPIN",serial="",firmware="R2",rotational="1",scheduler="none",node=""}',
    ]


def test_filesystems_are_those_that_hold_data_each_once_at_its_shortest_place() -> None:
    assert [(mount.device, mount.mountpoint, mount.fstype) for mount in mounts(MOUNTS)] == [
        ("/dev/vda", "/", "ext4"),
        ("/dev/sda2", "/hidden", "xfs"),
        ("tmpfs", "/dev/shm", "tmpfs"),
        ("filer:/export a", "/data sets", "nfs4"),
    ]


def test_container_sees_its_root_though_it_is_a_layer() -> None:
    (mount,) = mounts("500 400 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l\n")
    assert mount.labels == ("overlay", "/", "overlay")


@pytest.mark.parametrize(
    ("options", "readonly"),
    [("rw,relatime - ext4 /dev/vda rw", False), ("ro - ext4 /dev/vda rw", True), ("rw - ext4 /dev/vda ro,x", True)],
)
def test_mount_or_filesystem_may_be_read_only(options: str, *, readonly: bool) -> None:
    (mount,) = mounts(f"27 1 254:0 / / {options}\n")
    assert mount.readonly is readonly


def test_line_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="another format"):
        mounts("27 1 254:0 /\n")


def test_filesystem_that_cannot_be_looked_at_has_an_error_and_no_size(tmp_path: Path) -> None:
    def look(mountpoint: str) -> FilesystemUse:
        if mountpoint == "/":
            return USE
        raise OSError(5, "Input/output error", mountpoint)

    host = written(tmp_path, {"/proc/1/mountinfo": MOUNTS}).measuring(look)
    values = reading("filesystem", host)
    root, hidden = (f'{{device="{d}",mountpoint="{m}",fstype="{t}"}}' for d, m, t in (
        ("/dev/vda", "/", "ext4"), ("/dev/sda2", "/hidden", "xfs")
    ))  # fmt: skip
    assert values[f"storage_filesystem_size_bytes{root}"] == 1000
    assert values[f"storage_filesystem_avail_bytes{root}"] == 400
    assert values[f"storage_filesystem_files_free{root}"] == 80
    assert values[f"storage_filesystem_readonly{root}"] == 0
    assert values[f"storage_filesystem_device_error{root}"] == 0
    assert values[f"storage_filesystem_device_error{hidden}"] == 1
    assert math.isnan(values[f"storage_filesystem_size_bytes{hidden}"])


@pytest.mark.parametrize("fstype", ["nfs4", "lustre", "fuse.sshfs", "fuseblk", "orangefs", "not-known-yet"])
def test_file_server_that_is_away_holds_nothing_up(fstype: str, tmp_path: Path) -> None:
    back = Event()

    def look(mountpoint: str) -> FilesystemUse:
        if mountpoint == "/data sets":
            back.wait(30)
        return USE

    host = written(tmp_path, {"/proc/1/mountinfo": MOUNTS.replace("nfs4", fstype)}).measuring(look)
    values = reading("filesystem", host)
    away = f'{{device="filer:/export a",mountpoint="/data sets",fstype="{fstype}"}}'
    assert values[f"storage_filesystem_device_error{away}"] == 1
    assert values['storage_filesystem_size_bytes{device="/dev/vda",mountpoint="/",fstype="ext4"}'] == 1000
    back.set()


def test_filesystem_that_is_mounted_later_is_found(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/1/mountinfo": MOUNTS.splitlines(keepends=True)[0]}).measuring(lambda _: USE)
    collector = opened("filesystem", host, Profile.CORE)
    assert len(collector.read()) == 4
    written(tmp_path, {"/proc/1/mountinfo": MOUNTS})
    assert len(latest(collector)) == 16
    collector.close()


def test_own_mounts_are_those_of_who_may_not_look_at_process_1(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/self/mountinfo": MOUNTS}).measuring(lambda _: USE)
    assert len(reading("filesystem", host, Profile.CORE)) == 16


def test_captured_filesystem_has_the_size_that_it_had(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    values = reading("filesystem", host)
    root = '{device="/dev/vda",mountpoint="/",fstype="ext4"}'
    assert values[f"storage_filesystem_size_bytes{root}"] == host.statvfs("/").size_bytes > 1e9


def test_file_handles_are_counted_with_their_limit(tmp_path: Path) -> None:
    assert reading("filenr", written(tmp_path, {"/proc/sys/fs/file-nr": "1024\t0\t1631329\n"})) == {
        "storage_file_descriptors_allocated": 1024, "storage_file_descriptors_limit": 1631329
    }  # fmt: skip


def test_temperatures_of_nvme_drives_are_by_sensor(tmp_path: Path) -> None:
    assert reading("nvme", hardware(tmp_path)) == {
        'storage_nvme_temperature_celsius{device="nvme0",sensor="temp1"}': pytest.approx(40.85),
        'storage_nvme_temperature_celsius{device="nvme0",sensor="temp2"}': pytest.approx(51.85),
    }


def test_temperatures_of_nvme_drives_are_found_where_older_kernels_have_them(tmp_path: Path) -> None:
    files = {"/sys/class/nvme/nvme1/device/hwmon/hwmon4/temp1_input": "38850\n"}
    assert reading("nvme", written(tmp_path, files)) == {
        'storage_nvme_temperature_celsius{device="nvme1",sensor="temp1"}': pytest.approx(38.85)
    }


def test_controller_of_nvme_drives_is_in_one_state_of_all(tmp_path: Path) -> None:
    collector = opened("nvmestate", hardware(tmp_path))
    states = ("new", "live", "resetting", "connecting", "deleting", "dead")

    def told(first: str, second: str) -> dict[str, float]:
        return {
            f'storage_nvme_state{{device="{device}",state="{state}"}}': float(state == now)
            for device, now in (("nvme0", first), ("nvme1", second))
            for state in states
        }

    assert latest(collector) == told("live", "deleting")
    written(tmp_path, {"/sys/class/nvme/nvme1/state": "dead\n", "/sys/class/nvme/nvme0/state": "resetting\n"})
    assert latest(collector) == told("resetting", "dead")
    written(tmp_path, {"/sys/class/nvme/nvme0/state": "unknown state\n"})
    assert sum(map(math.isnan, latest(collector).values())) == len(states)
    collector.close()


def test_array_tells_how_many_disks_it_lacks(tmp_path: Path) -> None:
    assert reading("md", hardware(tmp_path)) == {'storage_md_degraded_disks{device="md0"}': 1}


def test_standard_sources_are_off_in_core(tmp_path: Path) -> None:
    ctx = context(captured_vm(tmp_path), Profile.CORE)
    assert not any(map(ctx.wants, opened("inflight", ctx.host).families))
