"""Asks NVMe controllers how their drives are, as ``nvme smart-log`` does.

The command is that of include/uapi/linux/nvme_ioctl.h, the answer the SMART / Health Information log page (02h) of the
NVM Express Base Specification: https://nvmexpress.org/specifications/
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import math
import os
import struct
from dataclasses import dataclass

PAGE_BYTES = 512
_COMMAND = struct.Struct("=BBHIIIQQ10I")  # struct nvme_passthru_cmd
_ADMIN_COMMAND = 3 << 30 | _COMMAND.size << 16 | ord("N") << 8 | 0x41  # _IOWR('N', 0x41, struct nvme_passthru_cmd)
_GET_LOG_PAGE, _HEALTH, _WHOLE_CONTROLLER = 0x02, 0x02, 0xFFFFFFFF
_DWORDS = (PAGE_BYTES // 4 - 1) << 16  # the specification counts from 0
_DEFAULT_TIMEOUT = 0  # the kernel resets a controller that has not answered in time: a shorter one could do harm

_PAGE = struct.Struct("<B2xBxB138x16s16s336x")
WARNINGS = ("spare", "temperature", "reliability", "read_only", "backup", "persistent_memory")
"""What each bit of the critical warning means, from the lowest."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a log page says; ``warnings`` by name, shares NaN where they are none."""

    warnings: dict[str, bool]
    spare_ratio: float
    used_ratio: float
    unsafe_shutdowns: int
    media_errors: int


def ask(location: str) -> bytes:
    """The log page of the controller whose character device is at ``location``; OSError for what it refuses."""
    page = bytearray(PAGE_BYTES)
    place = ctypes.addressof((ctypes.c_char * len(page)).from_buffer(page))
    which, rest = (_DWORDS | _HEALTH, 0, 0, 0, 0, 0), (_DEFAULT_TIMEOUT, 0)
    command = bytearray(
        _COMMAND.pack(_GET_LOG_PAGE, 0, 0, _WHOLE_CONTROLLER, 0, 0, 0, place, 0, len(page), *which, *rest)
    )
    descriptor = os.open(location, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = fcntl.ioctl(descriptor, _ADMIN_COMMAND, command)
    finally:
        os.close(descriptor)
    if status:
        raise OSError(errno.EIO, f"the controller answers with status {status:#x}")
    return bytes(page)


def health_in(page: bytes) -> Health:
    """What a log page says; ValueError for one of another length."""
    if len(page) != PAGE_BYTES:
        raise ValueError(f"a log page of {len(page)} bytes, not {PAGE_BYTES}")
    warnings, spare_percent, used_percent, shutdowns, errors = _PAGE.unpack(page)
    return Health(
        {name: bool(warnings >> bit & 1) for bit, name in enumerate(WARNINGS)},
        spare_percent / 100 if spare_percent <= 100 else math.nan,
        used_percent / 100,
        int.from_bytes(shutdowns, "little"),
        int.from_bytes(errors, "little"),
    )
