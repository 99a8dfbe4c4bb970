"""The command ``hostpulse-exporter``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from catalog import printed
from catalog.family import Profile
from catalog.logform import FORMS
from catalog.printed import PrintError, tell
from exporter.capture import capture, replay
from exporter.collector import Context
from exporter.engine import Engine, host_of
from exporter.exposition import Format
from exporter.host import Host
from exporter.record import CannotRecordError, add_record_flags, record, wanted
from exporter.serving import serve
from exporter.settings import Settings, SettingsError, add_flags, from_arguments
from exporter.version import PYTHON, installed


def _once(settings: Settings, host: Host) -> str:
    engine = Engine(settings, host=host)
    engine.sampler.settle()
    return engine.exposition(Format.TEXT).decode()


def _list(settings: Settings, host: Host) -> str:
    return "".join(_listed(Engine(settings, host=host)))


def _listed(engine: Engine) -> Iterator[str]:
    for slot in engine.slots:
        health, kind = slot.health, slot.kind
        reason = f" ({health.reason})" if health.reason else ""
        yield f"{slot.name}: {health.state}{reason}, {len(slot.series)} series, tier {health.tier}\n"
        yield from (f"    {family.name} [{family.profile}]\n" for family in kind.families)
        yield from (f"    reads {source}\n" for source in kind.sources)


def _capture(_: Settings, host: Host) -> str:
    # A report of a fault in one family may well be explained by a file that only another profile reads.
    return capture(Context(host, Profile.FULL))


def _version(_: Settings, __: Host) -> str:
    return f"hostpulse-exporter {installed()} (Python {PYTHON})\n"


_SERVE, _RECORD, _COMPLETION = "serve", "record", "completion"
_SHELLS = ("bash", "zsh", "fish")
_WRITERS: Mapping[str, tuple[Callable[[Settings, Host], str], str]] = {
    "once": (_once, "Write one exposition."),
    "list": (_list, "List the collectors: state, reason, families, files read."),
    "capture": (_capture, "Write all that the collectors read, without what identifies the host: for a bug report."),
    "version": (_version, "Say which version this is."),
}


_COMMANDS: Mapping[str, str] = {
    _SERVE: "Serve /metrics and /api/v1/samples; what is done when no command is given.",
    _RECORD: "Write all samples at full rate to a folder of Parquet files, until told to end.",
    **{name: about for name, (_, about) in _WRITERS.items()},
    _COMPLETION: "Print what makes a shell complete this program's commands and flags: bash, zsh or fish.",
}
_EPILOG = "Exit codes: 0 all is well; 1 something failed at run time; 2 wrong flag or setting."


_ALL_COMMANDS = "Measures the hardware of one host.\n\ncommands:\n" + "\n".join(
    f"  {name:<10} {about}" for name, about in _COMMANDS.items()
)


def _parser(command: str, *, named: bool) -> argparse.ArgumentParser:
    """The parser of a command, whose help is about that command alone where it was ``named``."""
    parser = argparse.ArgumentParser(
        prog=f"hostpulse-exporter {command}",
        usage=f"hostpulse-exporter {_usage(command) if named else '[COMMAND] [--FLAG=VALUE ...]'}",
        description=_COMMANDS.get(command, "") if named else _ALL_COMMANDS,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_flags(parser, command)
    if command not in _COMMANDS:
        parser.error(f"no such command: {command!r}; allowed: {', '.join(_COMMANDS)}")
    return parser


def _usage(command: str) -> str:
    return f"{command} {{{','.join(_SHELLS)}}}" if command == _COMPLETION else f"{command} [--FLAG=VALUE ...]"


def _add_flags(parser: argparse.ArgumentParser, command: str) -> None:
    """The flags of a command."""
    if command == _COMPLETION:
        parser.add_argument("shell", choices=_SHELLS)
        return
    if command in _WRITERS:
        parser.add_argument("--out", metavar="FILE", type=Path, help="Write there instead of to standard output.")
        parser.add_argument(
            "--replay", metavar="FILE", type=Path, help="Read the host of a capture instead of this one."
        )
    if command == _RECORD:
        add_record_flags(parser)
    add_flags(parser)


def _completion(shell: str) -> str:
    """What a shell reads to complete commands and flags."""
    import shtab  # a serving exporter must stay small

    whole = argparse.ArgumentParser(prog="hostpulse-exporter")
    commands = whole.add_subparsers()
    for name, about in _COMMANDS.items():
        _add_flags(commands.add_parser(name, help=about), name)
    add_flags(whole)
    script: str = shtab.complete(whole, shell)
    return script + "\n"


def _host(settings: Settings, captured: Path | None, folder: Path) -> Host:
    if captured is None:
        return host_of(settings)
    try:
        return replay(captured.read_text(encoding="utf-8"), folder)
    except OSError as error:
        raise SettingsError(f"--replay={captured}: {error.strerror or error}") from None
    except ValueError as error:
        raise SettingsError(f"--replay={captured}: {error}") from None


def _write(text: str, out: Path | None) -> int:
    if out is None:
        tell(text)
        return 0
    try:
        out.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        sys.stderr.write(f"hostpulse-exporter: cannot write to --out={out}: {error.strerror}\n")
        return 1
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 2 for a wrong command line."""
    printed.set_up()
    given = list(sys.argv[1:] if argv is None else argv)
    named = bool(given) and not given[0].startswith("-")
    command = given.pop(0) if named else _SERVE
    parser = _parser(command, named=named)
    arguments = parser.parse_args(given)
    try:
        if command == _COMPLETION:
            return _write(_completion(arguments.shell), None)
        settings = from_arguments(arguments, os.environ)
        handler = logging.StreamHandler()
        handler.setFormatter(FORMS[settings.log_format]())
        logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
        # A client's malformed request is not the operator's problem, and must not fill the log.
        logging.getLogger("tornado").setLevel(logging.ERROR)
        if command == _SERVE:
            return serve(settings)
        if command == _RECORD:
            return record(settings, wanted(arguments))
        with TemporaryDirectory(prefix="hostpulse-") as folder:
            host = _host(settings, arguments.replay, Path(folder))
            return _write(_WRITERS[command][0](settings, host), arguments.out)
    except CannotRecordError as error:
        sys.stderr.write(f"hostpulse-exporter: {error}\n")
        return 1
    except PrintError as error:
        return printed.end_unheard("hostpulse-exporter", error)
    except SettingsError as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
