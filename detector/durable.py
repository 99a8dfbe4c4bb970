"""Files that are whole or not there, whatever ends the program or fills the disk meanwhile, or else set aside.

https://man7.org/linux/man-pages/man2/rename.2.html: who opens the file sees the old one or the new one.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

BAD, PART = ".bad", ".part"


def write(final: Path, body: bytes | memoryview) -> None:
    """Write beside the final name, sync and rename.

    Raises OSError (disk full, say); the file before is untouched then, and nothing is left beside it.
    """
    part = final.with_suffix(PART)
    try:
        with part.open("wb") as stream:
            stream.write(body)
            stream.flush()
            os.fsync(stream.fileno())
        part.rename(final)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_aside(file: Path) -> None:
    """Give a damaged file a name under which nobody reads it, in place of what has that name. Raises OSError."""
    file.replace(file.with_name(file.name + BAD))
