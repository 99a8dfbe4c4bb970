"""The claim of a running detector on its folder, so that two do not undo each other's saves.

https://man7.org/linux/man-pages/man2/flock.2.html: the kernel takes it back however the program ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from io import FileIO
from pathlib import Path

FILE = "lock"
FULL = (errno.ENOSPC, errno.EDQUOT)
_LONGEST = 200


class Claim:
    """Of one folder, once it was taken: a running program goes to no other."""

    def __init__(self) -> None:
        self._stream: FileIO | None = None

    def take(self, directory: Path) -> bool:
        """Claim the folder, which is made where it is missing, until ``release``; False where it is claimed already.

        Raises OSError where it cannot be used; BlockingIOError, with who it is, where another program has claimed it.
        """
        if self._stream is not None:
            return False
        self._stream = _locked(directory)
        return True

    def release(self) -> None:
        """Claim nothing any more."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _locked(directory: Path) -> FileIO:
    directory.mkdir(parents=True, exist_ok=True)
    # Not truncated, as it says who has the folder; not buffered, as closing would try again to write.
    stream = (directory / FILE).open("a+b", buffering=0)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stream.truncate(0)
        stream.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except BlockingIOError:
        stream.seek(0)
        who = stream.read(_LONGEST).decode(errors="replace").strip() or "another process"
        stream.close()
        raise BlockingIOError(errno.EAGAIN, f"another detector uses it: {who}", str(directory)) from None
    except OSError as error:
        if error.errno not in FULL:  # there may be no room to say who has the folder, and it is had all the same
            stream.close()
            raise
    return stream
