"""The command ``hostpulse-detector``: heeds signals before anything else, and imports what the command needs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from catalog import printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. What takes settings ends the process, else the exit code is returned."""
    if arguments is None:
        arguments = sys.argv[1:]
        _heed_signals(arguments)
    from detector.options import BARE, PROGRAM, parse

    printed.set_up()
    try:
        options = parse(arguments, os.environ)
        if options.command in BARE:
            from detector.commands import without_settings

            return without_settings.COMMANDS[options.command](options)
    except printed.PrintError as error:
        return printed.end_unheard(PROGRAM, error)
    from detector.commands import with_settings

    return with_settings.end_with(options)


def _heed_signals(arguments: Sequence[str]) -> None:
    """Until a command does better: Ctrl-C ends the program without a traceback of what is being imported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if arguments[:1] == ["run"]:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what is to be read again is not read yet


if __name__ == "__main__":
    sys.exit(main())
