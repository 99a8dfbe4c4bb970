"""Health of NVMe drives: a log page as the specification lays it out, and what is made of controllers that refuse."""

from __future__ import annotations

import errno
import math
import threading
from pathlib import Path

import pytest

from exporter import nvmehealth
from exporter.collector import Unavailable
from exporter.collectors import nvmehealth as collecting
from exporter.host import Host
from exporter.nvmehealth import PAGE_BYTES, ask, health_in
from tests.exporter.collectors import latest, opened
from tests.hosts import written
from tests.servers import wait_until

BOOT = "/proc/sys/kernel/random/boot_id"


def log_page(warnings: int = 0, spare: int = 100, used: int = 0, shutdowns: int = 0, errors: int = 0) -> bytes:
    """Bytes 0, 3 and 5, then little-endian numbers of 16 bytes at 144 and 160; what stands between is not zero."""
    page = bytearray(b"\xa5" * PAGE_BYTES)
    page[0], page[3], page[5] = warnings, spare, used
    page[144:160], page[160:176] = shutdowns.to_bytes(16, "little"), errors.to_bytes(16, "little")
    return bytes(page)


def drives(folder: Path, *names: str) -> Host:
    """This machine with other drives."""
    states = {f"/sys/class/nvme/{name}/state": "live" for name in names}
    return written(folder, {BOOT: Path(BOOT).read_text(), **states})


def answering(monkeypatch: pytest.MonkeyPatch, answers: dict[str, bytes | OSError]) -> None:
    def answer(location: str) -> bytes:
        said = answers[location.rpartition("/")[2]]
        if isinstance(said, OSError):
            raise said
        return said

    monkeypatch.setattr(collecting, "ask", answer)


def test_log_page_is_taken_apart_as_the_specification_lays_it_out() -> None:
    health = health_in(log_page(warnings=0b001010, spare=97, used=134, shutdowns=2**64 + 3, errors=258))
    assert [name for name, raised in health.warnings.items() if raised] == ["temperature", "read_only"]
    assert (health.spare_ratio, health.used_ratio) == (0.97, 1.34)
    assert (health.unsafe_shutdowns, health.media_errors) == (2**64 + 3, 258)


def test_what_cannot_be_is_left_out_or_refused() -> None:
    assert math.isnan(health_in(log_page(spare=255)).spare_ratio)
    with pytest.raises(ValueError, match="a log page of 511 bytes, not 512"):
        health_in(log_page()[:-1])


def test_command_is_the_one_of_the_kernels_header() -> None:
    assert nvmehealth._COMMAND.size == 72
    assert nvmehealth._ADMIN_COMMAND == 0xC0484E41
    assert nvmehealth._DWORDS | nvmehealth._HEALTH == 0x007F0002


def test_file_that_is_no_controller_refuses() -> None:
    with pytest.raises(OSError, match="Inappropriate ioctl"):
        ask("/dev/null")


def test_each_drive_tells_its_health_and_a_silent_one_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, bytes | OSError] = {
        "nvme0": log_page(0b1, 9, 80, 4, 2), "nvme1": OSError(errno.EIO, "the controller answers with status 0x2002"),
    }  # fmt: skip
    answering(monkeypatch, answers)
    collector = opened("nvmehealth", drives(tmp_path, "nvme0", "nvme1"))
    assert latest(collector) == {
        'storage_nvme_used_ratio{device="nvme0"}': 0.8,
        'storage_nvme_spare_ratio{device="nvme0"}': 0.09,
        'storage_nvme_media_errors_total{device="nvme0"}': 2,
        'storage_nvme_unsafe_shutdowns_total{device="nvme0"}': 4,
        **{
            f'storage_nvme_warning{{device="nvme0",warning="{name}"}}': float(name == "spare")
            for name in nvmehealth.WARNINGS
        },
    }
    layout = collector.series
    collector.read()
    assert collector.series is layout
    answers["nvme0"] = OSError(errno.ENODEV, "No such device")
    with pytest.raises(OSError, match="/dev/nvme"):
        collector.read()
    collector.close()


def test_drive_that_falls_silent_has_gaps_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, bytes | OSError] = {"nvme0": log_page(used=10), "nvme1": log_page(used=20)}
    answering(monkeypatch, answers)
    collector = opened("nvmehealth", drives(tmp_path, *answers))
    layout = collector.series
    answers["nvme0"] = OSError(errno.EIO, "no")
    used = {key: value for key, value in latest(collector).items() if "used" in key}
    assert used['storage_nvme_used_ratio{device="nvme1"}'] == 0.2
    assert math.isnan(used['storage_nvme_used_ratio{device="nvme0"}'])
    assert collector.series is layout
    collector.close()


def test_drive_that_does_not_answer_holds_up_neither_the_others_nor_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()

    def answer(location: str) -> bytes:
        if location.endswith("nvme0"):
            assert let_go.wait(60)
        return log_page(used=20)

    monkeypatch.setattr(collecting, "ask", answer)
    collector = opened("nvmehealth", drives(tmp_path, "nvme0", "nvme1"))
    assert {series.label("device") for series in collector.series} == {"nvme1"}
    let_go.set()
    wait_until(lambda: 'storage_nvme_used_ratio{device="nvme0"}' in latest(collector), 60, "both answer")
    collector.close()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_missing_right_turns_it_off_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    answering(monkeypatch, {"nvme0": OSError(code, "no")})
    with pytest.raises(Unavailable, match="/dev/nvme0: permission denied; needs root and the capability CAP_SYS_ADMIN"):
        opened("nvmehealth", drives(tmp_path, "nvme0"))


def test_drives_that_cannot_be_asked_turn_it_off(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="/dev/nvme0: No such file or directory"):
        opened("nvmehealth", drives(tmp_path / "container", "nvme0"))
    with pytest.raises(Unavailable, match="not the controllers of this machine"):
        opened("nvmehealth", written(tmp_path / "capture", {"/sys/class/nvme/nvme0/state": "live"}))
    with pytest.raises(Unavailable, match="no NVMe drive"):
        opened("nvmehealth", Host(tmp_path, tmp_path, tmp_path))
