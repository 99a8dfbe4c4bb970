"""NFS mounts: requests, time and bytes of each mount point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exporter.collectors import latest, opened, reading
from tests.hosts import written
from tests.hosts.hardware import MOUNTSTATS, hardware

MOUNT = "device filer:/b mounted on {} with fstype {} statvers=1.1\n\tbytes:\t{} 0 0 0 0 0 0 0\n"
STATS = "/proc/1/mountstats"


def _of(values: dict[str, float], mountpoint: str) -> dict[str, float]:
    """The values of one mount, by their names without the common part and by the label that is left."""
    found = {}
    for series, value in values.items():
        name, _, labels = series.removeprefix("storage_nfs_").partition("{")
        if f'mountpoint="{mountpoint}"' in labels:
            found[f"{name} {labels.split('=')[-1]}".replace('"', "").rstrip("}")] = value
    return found


def test_requests_of_a_mount_are_told_by_operation(tmp_path: Path) -> None:
    assert _of(reading("nfs", hardware(tmp_path)), "/data sets") == {
        "operations_total READ": 1298,
        "operation_seconds_total READ": pytest.approx(79.407),
        "retransmits_total READ": 3,
        "operations_total WRITE": 7,
        "operation_seconds_total WRITE": pytest.approx(0.022),
        "retransmits_total WRITE": 0,
        "operations_total GETATTR": 331,
        "operation_seconds_total GETATTR": pytest.approx(0.345),
        "retransmits_total GETATTR": 0,
        "bytes_total read": 1207641230,
        "bytes_total write": 2500,
    }


def test_kernels_before_5_3_have_a_number_less(tmp_path: Path) -> None:
    text = MOUNTSTATS.replace(" 79407 0\n", " 79407\n").replace(" 22 0\n", " 22\n").replace(" 345 4\n", " 345\n")
    host = written(tmp_path, {STATS: text.replace("NULL: 0 ", "NULL: ").replace(" 6 6 0\n", " 6 6\n")})
    assert reading("nfs", host) == reading("nfs", hardware(tmp_path / "newer"))


def test_host_without_mounts_has_them_when_they_come(tmp_path: Path) -> None:
    host = written(tmp_path, {STATS: "device proc mounted on /proc with fstype proc\n"})
    collector = opened("nfs", host)
    assert latest(collector) == {}
    written(tmp_path, {STATS: MOUNT.format("/a", "nfs", 9)})
    assert _of(latest(collector), "/a") == {"bytes_total read": 9, "bytes_total write": 0}
    collector.close()


def test_mount_over_another_hides_it_and_those_of_containers_are_left_out(tmp_path: Path) -> None:
    pod = "/var/lib/kubelet/pods/1b/volumes/x"
    mounts = (("/a", "nfs", 1), ("/a", "nfs4", 2), ("/b", "nfs", 3), ("/b", "ext4", 4), (pod, "nfs", 5))
    host = written(tmp_path, {STATS: "".join(MOUNT.format(*mount) for mount in mounts)})
    values = reading("nfs", host)
    assert len(values) == 2
    assert _of(values, "/a")["bytes_total read"] == 2


def test_own_mounts_are_told_to_whom_process_1_is_hidden(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/self/mountstats": MOUNT.format("/a", "nfs", 7)})
    assert _of(reading("nfs", host), "/a")["bytes_total read"] == 7


@pytest.mark.parametrize(
    "text",
    [
        MOUNT.format("/a", "nfs", "9 9"),
        MOUNT.format("/a", "nfs", 1) + "\tbytes:\t1 0 0 0 0 0 0 0\n",
        MOUNT.format("/a", "nfs", 1) + "\t READ: 1 2 3 4 5 6 7\n",
        MOUNT.format("/a", "nfs", 1) + "\t READ: 1 2 3 4 5 6 7 8\n\t WRITE: 1 2 3 4 5 6 7 8 9\n",
        "something else\n",
    ],
)
def test_lines_of_another_format_are_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=STATS):
        opened("nfs", written(tmp_path, {STATS: text}))
