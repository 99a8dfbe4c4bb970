"""The command ``hostpulse-detector``."""

from __future__ import annotations

import gc
import logging
import os
import platform
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from types import FrameType
from typing import NoReturn

import orjson

from detector import logs
from detector.clock import SystemClock
from detector.config import ConfigError, load
from detector.options import ALARM, FAILED, GOOD, USAGE, Options, parse
from detector.service import Service, StartError
from detector.settings import Settings
from detector.single import GaveUpError, judge_once
from detector.sinks.metrics import as_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. ``run`` and ``once`` end the process, else the exit code is returned."""
    options = parse(sys.argv[1:] if arguments is None else arguments, os.environ)
    if options.command == "version":
        print(f"hostpulse-detector {version('hostpulse')} (Python {platform.python_version()})")
        return GOOD
    try:
        settings = load(options.file, options.flags, os.environ)
    except ConfigError as error:
        return _complain(str(error), USAGE)
    logs.set_up(settings.log.level, settings.log.format)
    clock = SystemClock()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: clock.stop())
    try:
        code = _once(settings, clock) if options.command == "once" else _run(options, settings, clock)
    except (StartError, GaveUpError) as error:
        code = _complain(str(error), FAILED)
    return _leave(code)


def _run(options: Options, settings: Settings, clock: SystemClock) -> int:
    service = Service(options, settings, os.environ, clock)

    def reload(_number: int, _frame: FrameType | None) -> None:
        service.ask_reload()

    signal.signal(signal.SIGHUP, reload)
    gc.freeze()  # what is there at the start stays: no need to look at it in each collection
    service.run()
    return GOOD


def _leave(code: int) -> NoReturn:
    """End at once, as ``Background.close`` asks for: a read or a fit may have been left behind."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _once(settings: Settings, clock: SystemClock) -> int:
    judged = judge_once(settings, clock)
    for one in judged:
        print(orjson.dumps(as_json(one), option=orjson.OPT_SERIALIZE_NUMPY).decode())
    return ALARM if any(one.verdict.active for one in judged) else GOOD


def _complain(message: str, code: int) -> int:
    for line in message.splitlines():
        print(f"hostpulse-detector: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
