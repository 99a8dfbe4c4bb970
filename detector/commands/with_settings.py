"""What the commands that take settings do."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from catalog import printed
from catalog.printed import PrintError, tell
from detector import described, logs, validated
from detector.backtest import asked_stretch, backtest, recorded, stored
from detector.clock import SystemClock
from detector.config import ConfigError, load
from detector.discovery import describe
from detector.export_rules import ExportError, alert_rules, keep_rules
from detector.findings import as_json as findings_as_json
from detector.findings import as_text
from detector.incidents.ask import AskError
from detector.once import GaveUpError, judge_once
from detector.options import ALARM, FAILED, GOOD, PROGRAM, USAGE, Options
from detector.recording import RecordingError, open_recording
from detector.replay import Findings, ReplayError, replay
from detector.report.answer import NotFoundError
from detector.report.command import report
from detector.scores import ScoreError
from detector.service import Service, StartError, build_source, state_directory
from detector.settings import Settings
from detector.sinks.metrics import as_json
from detector.source import SourceError
from detector.validation import validate


def end_with(options: Options) -> NoReturn:
    """Do what the command line says, and end the process."""
    _leave(_done(options))


def _done(options: Options) -> int:
    clock = SystemClock()
    if options.command in _BY_THE_CLOCK:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: clock.stop())
    try:
        settings = load(options.file, options.flags, os.environ)
    except ConfigError as error:
        return _complain(str(error), USAGE)
    logs.set_up(settings.log.level, settings.log.format)
    try:
        return _COMMANDS[options.command](options, settings, clock)
    except PrintError as error:
        return printed.end_unheard(PROGRAM, error)
    except (StartError, GaveUpError, RecordingError, ReplayError, ExportError, SourceError, ScoreError) as error:
        return _complain(str(error), FAILED)


def _run(options: Options, settings: Settings, clock: SystemClock) -> int:
    if options.dry_run:
        return _validate(options, settings, clock)
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
    sys.stderr.flush()
    os._exit(code)


def _once(_: Options, settings: Settings, clock: SystemClock) -> int:
    judged = judge_once(settings, clock)
    for one in judged:
        tell(orjson.dumps(as_json(one), option=orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")
    return ALARM if any(one.verdict.active for one in judged) else GOOD


def _discover(options: Options, settings: Settings, clock: SystemClock) -> int:
    source = build_source(settings, clock)
    hosts = describe(source, settings)
    if options.as_json:
        tell(orjson.dumps(described.as_json(source.address, hosts)).decode() + "\n")
    else:
        tell(described.as_text(source.address, hosts))
    return GOOD


def _validate(options: Options, settings: Settings, clock: SystemClock) -> int:
    report = validate(settings, os.environ, clock)
    tell(orjson.dumps(validated.as_json(report)).decode() + "\n" if options.as_json else validated.as_text(report))
    return _complain("\n".join(report.problems), FAILED) if report.problems else GOOD


def _replay(options: Options, settings: Settings, clock: SystemClock) -> int:
    with _bar(clock) as progress:
        recording = open_recording(options.recording, options.instance)
        found = replay(recording, settings, partial(progress, recording.name))
    _print_findings(found, options)
    return GOOD


def _backtest(options: Options, settings: Settings, clock: SystemClock) -> int:
    try:
        stretch = asked_stretch(options.from_time, options.to_time, options.instance, clock.wall_s())
        if options.recording != Path():
            pasts = recorded(options.recording, stretch)
        else:
            pasts = stored(build_source(settings, clock), settings, stretch)
        with _bar(clock) as progress, closing(backtest(pasts, settings, stretch, options.out, progress)) as judged:
            for found in judged:
                with progress.put_away():
                    _print_findings(found, options)
    except AskError as error:
        return _complain(f"backtest: {error}", USAGE)
    return GOOD


def _report(options: Options, settings: Settings, clock: SystemClock) -> int:
    try:
        with _bar(clock) as progress:
            text = report(options, settings, os.environ, clock, progress)
    except AskError as error:
        return _complain(f"report: {error}", USAGE)
    except NotFoundError as error:
        return _complain(f"report: {error}", FAILED)
    tell(text if text.endswith("\n") else f"{text}\n")
    return GOOD


def _print_findings(found: Findings, options: Options) -> None:
    tell(orjson.dumps(findings_as_json(found)).decode() + "\n" if options.as_json else as_text(found))


class _Bar:
    """A bar on a terminal: told whose past is judged and how much of it is done, says whether to stop."""

    def __init__(self, bar: Progress, clock: SystemClock) -> None:
        self._bar, self._clock = bar, clock
        self._task = bar.add_task("", total=1.0)

    def __call__(self, name: str, done: float) -> bool:
        self._bar.update(self._task, completed=done, description=f"replaying {name}")
        return self._clock.wait(0.0)

    @contextmanager
    def put_away(self) -> Iterator[None]:
        """Nothing of it is on the terminal while something else is printed."""
        self._bar.stop()
        yield
        self._bar.start()


@contextmanager
def _bar(clock: SystemClock) -> Iterator[_Bar]:
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    screen = Console(stderr=True)
    with Progress(
        *columns,
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
        redirect_stdout=False,  # what is printed would go where the bar does, and to no file or pipe
    ) as bar:
        yield _Bar(bar, clock)


def _export_rules(options: Options, settings: Settings, _: SystemClock) -> int:
    if options.keep:
        tell(keep_rules(state_directory(settings, os.environ)))
    else:
        job: str | Sequence[str] = getattr(settings.source.settings, "job", ())
        tell(alert_rules([job] if isinstance(job, str) else job))
    return GOOD


_COMMANDS: Mapping[str, Callable[[Options, Settings, SystemClock], int]] = {
    "run": _run,
    "once": _once,
    "discover": _discover,
    "validate": _validate,
    "replay": _replay,
    "backtest": _backtest,
    "report": _report,
    "export-rules": _export_rules,
}
# These end when the clock says so; others would not hear a signal.
_BY_THE_CLOCK = ("run", "once", "replay", "backtest", "report")


def _complain(message: str, code: int) -> int:
    for line in message.splitlines():
        print(f"{PROGRAM}: {line}", file=sys.stderr)
    return code
