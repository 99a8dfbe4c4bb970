"""Asks network drivers for their own counters, as ``ethtool -S`` does.

The structures are those of include/uapi/linux/ethtool.h: https://man7.org/linux/man-pages/man7/netdevice.7.html
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from socket import AF_INET, SOCK_DGRAM, socket

_SIOCETHTOOL = 0x8946
_HOW_MANY, _STRINGS, _STATISTICS = 0x37, 0x1B, 0x1D
_SET = 1  # ETH_SS_STATS
_REQUEST = struct.Struct("16sP16x")  # struct ifreq with a pointer to what is asked
_SETS, _NAMES, _VALUES = struct.Struct("=IIQI"), struct.Struct("=III"), struct.Struct("=II")
_NAME_BYTES, _VALUE_BYTES = 32, 8
# The kernel does not look how much room there is: a driver that got more queues since it was asked how many counters
# it has writes them all. There is room for far more than that.
_SPARE = 4096


class Ethtool:
    """A socket to ask with, in the network namespace of this process. A driver may take milliseconds to answer."""

    def __init__(self) -> None:
        self._socket = socket(AF_INET, SOCK_DGRAM)

    def count(self, device: str) -> int:
        """How many counters a driver has; OSError where the device is gone."""
        buffer = bytearray(_SETS.pack(_HOW_MANY, 0, 1 << _SET, 0))
        self._ask(device, buffer)
        _, _, sets, count = _SETS.unpack(buffer)
        return int(count) if sets else 0

    def names(self, device: str) -> tuple[str, ...]:
        """What the counters are called, in the driver's order; OSError where the device is gone."""
        count = self.count(device)
        buffer = bytearray(_NAMES.pack(_STRINGS, _SET, count)) + bytes((count + _SPARE) * _NAME_BYTES)
        self._ask(device, buffer)
        return names_in(bytes(buffer))

    def values(self, device: str) -> tuple[int, ...]:
        """What the counters say, in the same order; OSError where the device is gone."""
        count = self.count(device)
        buffer = bytearray(_VALUES.pack(_STATISTICS, count)) + bytes((count + _SPARE) * _VALUE_BYTES)
        self._ask(device, buffer)
        return values_in(bytes(buffer))

    def _ask(self, device: str, buffer: bytearray) -> None:
        place = ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))
        fcntl.ioctl(self._socket, _SIOCETHTOOL, _REQUEST.pack(os.fsencode(device), place))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def names_in(answer: bytes) -> tuple[str, ...]:
    """The names in an answer to ETHTOOL_GSTRINGS; OSError for one that is shorter than it says."""
    _, _, count = _whole(answer, _NAMES, _NAME_BYTES)
    starts = range(_NAMES.size, _NAMES.size + count * _NAME_BYTES, _NAME_BYTES)
    fields = (answer[start : start + _NAME_BYTES].partition(b"\0")[0] for start in starts)
    return tuple(field.decode("ascii", "replace").strip() for field in fields)


def values_in(answer: bytes) -> tuple[int, ...]:
    """The values in an answer to ETHTOOL_GSTATS; OSError for one that is shorter than it says."""
    *_, count = _whole(answer, _VALUES, _VALUE_BYTES)
    return struct.unpack_from(f"={count}Q", answer, _VALUES.size)


def _whole(answer: bytes, head: struct.Struct, each_bytes: int) -> tuple[int, ...]:
    """What stands before the entries; how many there are comes last."""
    numbers = head.unpack_from(answer) if len(answer) >= head.size else (0,)
    if len(answer) < head.size + numbers[-1] * each_bytes:
        raise OSError(errno.EBADMSG, "a driver's answer is shorter than it says")
    return numbers
