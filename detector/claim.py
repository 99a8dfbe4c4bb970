"""The claims of a running detector on its folders, so that two do not undo each other's saves.

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


class Claims:
    """All folders that this program uses; one that it no longer saves to may still hold its incidents."""

    def __init__(self) -> None:
        self._streams: dict[Path, FileIO] = {}

    def take(self, directory: Path) -> None:
        """Claim a folder, which is made where it is missing, until ``release``.

        Raises OSError where it cannot be used; BlockingIOError, with who it is, where another program has claimed it.
        """
        directory = directory.resolve()  # one folder has many names
        if directory not in self._streams:
            self._streams[directory] = _locked(directory)

    def release(self) -> None:
        """Claim nothing any more."""
        for stream in self._streams.values():
            stream.close()
        self._streams = {}


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
