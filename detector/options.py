"""The command line: one flag for each setting of the table. Exit codes are in the parser's last lines."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from catalog.printed import tell
from detector import recording
from detector.config import is_text, nearest
from detector.settings import ENVIRONMENT_PREFIX, walk

PROGRAM = "hostpulse-detector"
GOOD, FAILED, USAGE, ALARM = 0, 1, 2, 3
_COMPLETION, _VERSION = "completion", "version"
BARE = (_COMPLETION, _VERSION, "explain")  # these take no settings
_FILE_FLAG = "config.file"
_FILE_VARIABLE = ENVIRONMENT_PREFIX + "CONFIG_FILE"
_TIMES = "2027-01-15T08:00:00Z, seconds since the epoch, now, or now-6h"
_PORT = "; without its port where there is only one of that name."
_EPILOG = f"""\
Each flag may also be given as an environment variable ({ENVIRONMENT_PREFIX}WINDOW_DURATION for --window.duration)
or as a key of the file (duration below window). A flag beats the environment, the environment beats the file.

Exit codes: {GOOD} all is well; {FAILED} something failed at run time; {USAGE} wrong flag or setting;
{ALARM} (once) a host has an open episode.
"""

COMMANDS = {
    "run": "Judge all hosts of the source until told to stop.",
    "once": "Learn anew (for baseline.duration), print one verdict a host as JSON, and end.",
    "discover": "Say which hosts the source has, who tells what of them and what nobody tells, and end.",
    "validate": "Try the configuration out, say what running it takes and what is wrong, and end; nothing is judged.",
    "replay": "Judge a recording as a running detector would have, print its episodes, and end.",
    "backtest": "Judge a stretch of the past that a store or a file holds, print the episodes, and end.",
    "report": "Print what happened and what is likely behind it: an incident, a period, or one stretch beside another.",
    "export-rules": "Print the alert rules for Prometheus, or what it need keep for the saved models, and end.",
    "explain": "Print what a cause looks like, what to check and what to change; without a name, list all causes.",
    _COMPLETION: "Print what makes a shell complete this program's commands and flags, and end.",
    _VERSION: "Print the version and end.",
}
SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says. ``flags`` by name without dashes in front, only those that were given.

    ``recording`` is what ``replay`` is to read, ``instance`` the host in it, ``as_json`` whether to tell it in JSON.
    With ``dry_run``, ``run`` does as ``validate``.
    ``signature`` is what ``explain`` is to explain, "" for a list of all.
    ``report`` tells of an ``incident``, of what was ``at_time``, or of a stretch ``beside`` another, as ``form``.
    ``backtest`` judges from ``from_time`` to ``to_time`` and writes scores to ``out``.
    """

    command: str
    file: Path | None
    flags: Mapping[str, str]
    recording: Path = Path()
    as_json: bool = False
    instance: str = ""
    keep: bool = False
    shell: str = ""
    signature: str = ""
    dry_run: bool = False
    from_time: str = ""
    to_time: str = ""
    out: Sequence[Path] = ()
    incident: str = ""
    at_time: str = ""
    beside: str = ""
    form: str = ""


def _own_flags() -> list[str]:
    """What only some commands take."""
    return [field.name for field in fields(Options) if field.default is not MISSING]


class _Parser(argparse.ArgumentParser):
    """Ends with a line that names what is wrong and the nearest thing that is right."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\nTry {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse passes over what cannot be printed."""
        if file is sys.stdout:
            tell(message)
        else:
            super()._print_message(message, file)


def build_parser() -> argparse.ArgumentParser:
    """All commands with their flags."""
    parser = _Parser(prog=PROGRAM, description="Judges hosts from their hardware signals alone.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, about in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=about,
            description=about,
            epilog=_EPILOG if name not in BARE else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name not in BARE:
            _add_flags(command)
        add_own_flags(name, command)
    return parser


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """What the arguments say; ends the program for ``--help`` and for what is wrong."""
    parser = build_parser()
    known, unknown = parser.parse_known_args(arguments)
    if unknown:
        taken = [] if known.command in BARE else [f"--{_FILE_FLAG}", *(setting.flag for setting in walk())]
        parser.error(f"unknown argument {unknown[0]}{nearest(unknown[0].partition('=')[0], taken)}")
    given = vars(known)
    for name, value in given.items():
        if isinstance(value, str) and not is_text(value):
            parser.error(f"{name.removesuffix('_time')}: {value!a} is not text in UTF-8")
    command_name = given.pop("command")
    file = given.pop(_FILE_FLAG, None) or environment.get(_FILE_VARIABLE)
    own = {name: given.pop(name) for name in _own_flags() if name in given}
    chosen = {name: ",".join(texts) for name, texts in given.items() if texts is not None}
    return Options(command_name, Path(file) if file else None, chosen, **own)


def add_own_flags(name: str, parser: argparse.ArgumentParser) -> None:
    """The flags that only one command has."""
    if name == "replay":
        parser.add_argument(
            "--from",
            dest="recording",
            type=_path,
            required=True,
            metavar="PATH",
            help=f"What to read: {recording.allowed()}.",
        )
        parser.add_argument(
            "--instance", default="", metavar="NAME", help=f"Which host, where several were recorded{_PORT}"
        )
        parser.add_argument("--json", dest="as_json", action="store_true", help="Print one line of JSON.")
    if name == "explain":
        parser.add_argument("signature", nargs="?", default="", metavar="SIGNATURE", help="Which one.")
    if name == "report":
        _add_report_flags(parser)
    if name == "backtest":
        _add_backtest_flags(parser)
    if name == "run":
        parser.add_argument("--dry-run", dest="dry_run", action="store_true", help="Do as validate does, and end.")
    if name in ("discover", "validate"):
        parser.add_argument("--json", dest="as_json", action="store_true", help="Print one line of JSON.")
    if name == _COMPLETION:
        parser.add_argument("shell", choices=SHELLS, help="Which shell.")
    if name == "export-rules":
        parser.add_argument(
            "--keep",
            action="store_true",
            help="Instead of alert rules print metric_relabel_configs that keep the families which the models use.",
        )


def _said(text: str) -> str:
    """What a flag that may be left out says: a variable of the shell that is not set is an error."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _path(text: str) -> Path:
    return Path(_said(text))


_OPTIONAL: dict[str, Any] = {"type": _said, "default": argparse.SUPPRESS}


def _add_report_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--incident", **_OPTIONAL, metavar="ID", help="The incident with this id.")
    parser.add_argument("--instance", default="", metavar="NAME", help=f"Which host{_PORT} Default: all.")
    parser.add_argument(
        "--at",
        dest="at_time",
        **_OPTIONAL,
        metavar="TIME",
        help=f"The incident at that time or of the hour before: {_TIMES}.",
    )
    parser.add_argument("--from", dest="from_time", **_OPTIONAL, metavar="TIME", help="Since when: as --at.")
    parser.add_argument("--to", dest="to_time", **_OPTIONAL, metavar="TIME", help="Until when: as --at.")
    parser.add_argument(
        "--beside",
        **_OPTIONAL,
        metavar="WHAT",
        help="Compare the samples from --from to --to with those of another time, FROM/TO, or of another host, NAME.",
    )
    parser.add_argument(
        "--recording",
        type=_path,
        default=Path(),
        metavar="PATH",
        help=f"Compare samples out of this instead of the source, with the time before unless --beside says otherwise: "
        f"{recording.allowed()}.",
    )
    parser.add_argument("--format", dest="form", default="md", metavar="FORMAT", help="md, html or json. Default: md.")


def _add_backtest_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="from_time", required=True, metavar="TIME", help=f"Since when: {_TIMES}.")
    parser.add_argument("--to", dest="to_time", default="now", metavar="TIME", help="Until when. Default: now.")
    parser.add_argument("--instance", default="", metavar="NAME", help=f"Which host{_PORT} Default: all.")
    parser.add_argument(
        "--recording",
        type=_path,
        default=Path(),
        metavar="PATH",
        help=f"Read this instead of the source: {recording.allowed()}.",
    )
    parser.add_argument(
        "--out",
        type=_path,
        action="append",
        default=[],
        metavar="FILE",
        help="Write the scores: *.om (OpenMetrics, for promtool tsdb create-blocks-from openmetrics), *.csv or "
        "*.parquet. May be given several times.",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="Print a line of JSON for each host.")


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(f"--{_FILE_FLAG}", dest=_FILE_FLAG, metavar="FILE", help=f"YAML file. [{_FILE_VARIABLE}]")
    for setting in walk():
        text = f"{setting.field.description} Default: {setting.default or 'none'}. Allowed: {setting.allowed}."
        action = "append" if setting.kind == "list" else _Last
        parser.add_argument(
            setting.flag,
            dest=setting.flag.removeprefix("--"),
            action=action,
            metavar="VALUE",
            help=text.replace("%", "%%"),
        )


class _Last(argparse.Action):
    """A flag that stands twice counts as it stands last."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's signature
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        setattr(namespace, self.dest, [values])
