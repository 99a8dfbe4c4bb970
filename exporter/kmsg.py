"""The kernel's log, from now on: https://docs.kernel.org/admin-guide/dev-kmsg.html (``/dev/kmsg``)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

_RECORD_BYTES = 8192
_MOST_RECORDS = 10_000
_LOST = (errno.EPIPE, errno.EINVAL)  # records that were overwritten meanwhile, or that do not fit


class KernelLog:
    """What the kernel itself logs after this was opened. Anybody may write lines there, but not as the kernel."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def messages(self) -> Iterator[str]:
        """Messages since the last call, at most so many that one call ends."""
        for _ in range(_MOST_RECORDS):
            try:
                data = os.read(self._descriptor, _RECORD_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _LOST:
                    raise
                continue
            if not data:
                return
            yield from filter(None, map(_message, data.decode("utf-8", "replace").splitlines()))

    def close(self) -> None:
        """Close the log."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _message(record: str) -> str:
    """The text of a record of the kernel's facility, empty for any other line.

    >>> _message("4,1021,6123456,-;NVRM: loading"), _message("12,1022,6123457,-;NVRM: forged"), _message(" KEY=value")
    ('NVRM: loading', '', '')
    """
    prefix, _, text = record.partition(";")
    level = prefix.partition(",")[0]
    return text if level.isdecimal() and int(level) < 8 else ""
