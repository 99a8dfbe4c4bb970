"""What the commands that take no settings do."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version

import shtab

from catalog.printed import tell
from detector.diagnosis.explain import UnknownSignatureError, explain
from detector.diagnosis.library import signatures
from detector.options import GOOD, PROGRAM, USAGE, Options, build_parser


def _version(_: Options) -> int:
    tell(f"{PROGRAM} {version('hostpulse')} (Python {platform.python_version()})\n")
    return GOOD


def _completion(options: Options) -> int:
    tell(shtab.complete(build_parser(), options.shell) + "\n")
    return GOOD


def _explain(options: Options) -> int:
    try:
        tell(explain(options.signature, signatures()))
    except UnknownSignatureError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return USAGE
    return GOOD


COMMANDS: Mapping[str, Callable[[Options], int]] = {
    "version": _version,
    "explain": _explain,
    "completion": _completion,
}
