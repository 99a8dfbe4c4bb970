"""The command ``hostpulse-exporter``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from exporter.engine import Engine
from exporter.exposition import Format
from exporter.serving import serve
from exporter.settings import Settings, SettingsError, add_flags, from_arguments
from exporter.version import PYTHON, installed


def _once(settings: Settings) -> int:
    engine = Engine(settings)
    engine.sampler.settle()
    sys.stdout.write(engine.exposition(Format.TEXT).decode())
    return 0


def _list(settings: Settings) -> int:
    for slot in Engine(settings).slots:
        health, kind = slot.health, slot.kind
        reason = f" ({health.reason})" if health.reason else ""
        sys.stdout.write(f"{slot.name}: {health.state}{reason}, {len(slot.series)} series, tier {health.tier}\n")
        for family in kind.families:
            sys.stdout.write(f"    {family.name} [{family.profile}]\n")
        for source in kind.sources:
            sys.stdout.write(f"    from {source}\n")
    return 0


def _version(_: Settings) -> int:
    sys.stdout.write(f"hostpulse-exporter {installed()} (Python {PYTHON})\n")
    return 0


_COMMANDS: Mapping[str, tuple[Callable[[Settings], int], str]] = {
    "serve": (serve, "Serve /metrics and /api/v1/samples; what is done when no command is given."),
    "once": (_once, "Write one exposition to standard output."),
    "list": (_list, "List the collectors: state, reason, families, files read."),
    "version": (_version, "Say which version this is."),
}


def _parser(command: str) -> argparse.ArgumentParser:
    about = "\n".join(f"  {name:<8} {text}" for name, (_, text) in _COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=f"hostpulse-exporter {command}",
        usage="hostpulse-exporter [COMMAND] [--FLAG=VALUE …]",
        description=f"Measures the hardware of one host.\n\ncommands:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_flags(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 2 for a wrong command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    command = given.pop(0) if given and not given[0].startswith("-") else "serve"
    parser = _parser(command)
    if command not in _COMMANDS:
        parser.error(f"no such command: {command!r}; allowed: {', '.join(_COMMANDS)}")
    try:
        settings = from_arguments(parser.parse_args(given), os.environ)
        logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s")
        # A client's malformed request is not the operator's problem, and must not fill the log.
        logging.getLogger("tornado").setLevel(logging.ERROR)
        return _COMMANDS[command][0](settings)
    except SettingsError as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
