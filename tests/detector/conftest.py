"""A host that was watched while it was healthy, which most tests of the pipeline start from; a disk soon full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from tests.detector.synthetic import synthetic_frame
from tests.detector.watching import JUDGE, Watched, watch

LEARNED_S = JUDGE.baseline_s + JUDGE.window_s


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """As the detector runs: on matrices of this size more threads only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def learned() -> Watched:
    """The first baseline, and the model fitted at its end."""
    return watch(synthetic_frame(LEARNED_S))


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill_up(folder: Path) -> None:
    """Leave no room on the file system that a folder is on."""
    with suppress(OSError), (folder / "fill").open("wb", buffering=0) as stream:
        while stream.write(bytes(4096)):
            pass


def make_read_only(folder: Path) -> None:
    """Let nothing be written any more to the file system that is mounted on a folder."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
