"""Standard output of both programs: its reader may have had enough, its disk be full, its encoding lack characters.

https://man7.org/linux/man-pages/man7/pipe.7.html, https://docs.python.org/3/library/codecs.html#error-handlers
"""

from __future__ import annotations

import codecs
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

_ALIKE = str.maketrans("▁▂▃▄▅▆▇█░│–…·×µσ°", "_.,-=+*#.|-.-xuz ")  # as wide, so that tables and bars stay in line
_HANDLER = "hostpulse-alike"


class PrintError(Exception):
    """Standard output takes nothing; the message says why, and is empty where its reader has had enough."""


def set_up() -> None:
    """From now on, what standard output's encoding lacks is printed as what looks like it, else as JSON escapes it.

    What goes to a standard error that is closed is lost: without a stream there it would be printed, or be an error.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the end
    codecs.register_error(_HANDLER, _alike)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_HANDLER)


def _alike(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that cannot be encoded, all of it ASCII, and where to go on.

    >>> _alike(UnicodeEncodeError("ascii", "½ █░ é", 2, 4, ""))
    ('#.', 4)
    >>> _alike(UnicodeEncodeError("ascii", "é", 0, 1, ""))
    ('\\\\u00e9', 1)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end].translate(_ALIKE))[1:-1], error.end


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


def end_unheard(program: str, error: PrintError) -> int:
    """The end of a program that nobody hears, as of any other whose reader has had enough; else the exit status."""
    if str(error):
        sys.stderr.write(f"{program}: {error}\n")
    else:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)
    return 1  # after the signal only where it is blocked
