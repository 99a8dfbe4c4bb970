"""What of a write-ahead log SQLite passes over without a word: https://www.sqlite.org/fileformat2.html#walformat"""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER_BYTES, _FRAME_BYTES = 32, 24
_MAGICS = (0x377F0682, 0x377F0683)  # by which end of a word its checksums take first


def log_of(file: Path) -> Path:
    """The log of a database."""
    return file.with_name(f"{file.name}-wal")


def begins_well(log: Path) -> bool:
    """Whether a log has its header, or nothing is in it."""
    try:
        with log.open("rb") as stream:
            head = stream.read(_HEADER_BYTES)
    except FileNotFoundError:
        return True
    if len(head) < _HEADER_BYTES:
        return not head
    return int.from_bytes(head[:4], "big") in _MAGICS and _checksum(head[:24], head) == head[24:]


def pages_lost(log: Path) -> int:
    """How many pages of a log that begins well are damaged or follow a damaged one; SQLite reads none of them.

    Those of before the log was begun anew have other salts and do not count.
    """
    if not log.exists():
        return 0
    with log.open("rb") as stream:
        head = stream.read(_HEADER_BYTES)
        salts, checksum, lost = head[16:24], head[24:], 0
        size = _FRAME_BYTES + int.from_bytes(head[8:12], "big")
        whole = len(head) == _HEADER_BYTES
        while len(frame := stream.read(size)) == size:
            is_of_now = frame[8:16] == salts
            if whole:
                checksum = _checksum(frame[:8] + frame[_FRAME_BYTES:], head, checksum)
                whole = is_of_now and checksum == frame[16:24]
            lost += is_of_now and not whole
    return lost


def _checksum(content: bytes, head: bytes, before: bytes = bytes(8)) -> bytes:
    """Of content that follows what has the checksum ``before``, in a log with this head."""
    words = struct.unpack(f"{'>' if head[3] & 1 else '<'}{len(content) // 4}I", content)
    one, other = struct.unpack(">2I", before)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        one = (one + even + other) & 0xFFFFFFFF
        other = (other + odd + one) & 0xFFFFFFFF
    return struct.pack(">2I", one, other)
