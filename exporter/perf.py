"""Counters of the kernel's perf events, one descriptor each. glibc has no wrapper for the call, so ctypes makes it.

https://man7.org/linux/man-pages/man2/perf_event_open.2.html
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple

from exporter.host import Host

_CALL_NUMBERS = {"x86_64": 298, "aarch64": 241}
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")  # struct perf_event_attr in its first published size
assert _ATTRIBUTES.size == 64, "the kernel tells versions of the structure by their size"
_GROUP_WITH_TIMES = 0b1011  # PERF_FORMAT_TOTAL_TIME_ENABLED, _TOTAL_TIME_RUNNING and _GROUP
_CLOSE_ON_EXEC = 8
_DISABLED = 1
_ENABLE = 0x2400  # PERF_EVENT_IOC_ENABLE
_ALL_TASKS = -1
_ALONE = -1
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_CALL = ctypes.CDLL(None, use_errno=True).syscall
_CALL.argtypes = (ctypes.c_long, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ulong)
_CALL.restype = ctypes.c_long

LACKING = frozenset((errno.ENOENT, errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO, errno.ENOSPC))
"""What the kernel answers for an event that the hardware does not count, or a group that it cannot count at once."""


class Event(NamedTuple):
    """An event as the kernel numbers it: the type of its source and what of that is counted."""

    type: int
    config: int


def open_event(event: Event, cpu: int, leader: int = _ALONE) -> int:
    """A descriptor for an event on one CPU, whatever runs there: one that will lead a group, or a member of one.

    Raises OSError with the number that the kernel gave; ``why_not`` says what that means.
    """
    number = _CALL_NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"perf_event_open is not known on {platform.machine()}")
    flags = _DISABLED if leader == _ALONE else 0
    attributes = _ATTRIBUTES.pack(event.type, _ATTRIBUTES.size, event.config, 0, 0, _GROUP_WITH_TIMES, flags, 0, 0, 0)
    descriptor = int(_CALL(number, attributes, _ALL_TASKS, cpu, leader, _CLOSE_ON_EXEC))
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor


def open_group(events: Sequence[Event], cpu: int) -> tuple[int, ...]:
    """Descriptors of events that are counted together or not at all, the leader first; OSError as of ``open_event``."""
    descriptors: list[int] = []
    try:
        for event in events:
            descriptors.append(open_event(event, cpu, descriptors[0] if descriptors else _ALONE))
        # Only now: a member of another source than its leader's would not start in a group that counts already.
        fcntl.ioctl(descriptors[0], _ENABLE)
    except OSError:
        close_group(descriptors)
        raise
    return tuple(descriptors)


def close_group(descriptors: Sequence[int]) -> None:
    """Stop counting."""
    for descriptor in descriptors:
        os.close(descriptor)


def why_not(error: OSError, host: Host) -> str:
    """What is missing where the kernel refused an event, for people: a capability, a setting or the hardware."""
    if error.errno in (errno.EPERM, errno.EACCES):
        level = host.text(_PARANOID, "not known")
        return (
            "perf events of whole CPUs need the capability CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at 0 "
            f"or below (it is {level}); a container's seccomp profile may forbid the call as well"
        )
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (ulimit -n, LimitNOFILE=)"
    if error.errno == errno.ENOSYS:
        return "the kernel was built without perf events, or this architecture is not known"
    if error.errno in LACKING:
        return "the hardware, or the virtual machine, does not count it"
    return f"perf_event_open: {error.strerror}"
