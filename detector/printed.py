"""Standard output, whose reader may have had enough or whose disk may be full.

https://man7.org/linux/man-pages/man7/pipe.7.html
"""

from __future__ import annotations

import os
import sys
from typing import TextIO


class PrintError(Exception):
    """Standard output takes nothing; the message says why, and is empty where its reader has had enough."""


def tell(text: str) -> None:
    """Print a text as it is, at once. Raises PrintError."""
    stream: TextIO | None = sys.stdout
    if stream is None:
        raise PrintError("standard output is closed")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _forget()
        raise PrintError from None
    except OSError as error:
        _forget()
        raise PrintError(f"standard output cannot be written: {error.strerror or error}") from None


def _forget() -> None:
    """What is left in the buffer goes nowhere: Python would fail on it once more at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
