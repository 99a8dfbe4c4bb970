"""``report``: from the incidents that are remembered, or from the samples of a stretch of the past."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from detector.backtest import Stretch, asked_stretch, asked_time, recorded, stored
from detector.clock import Clock
from detector.diagnosis.library import signatures
from detector.incidents.ask import AskError
from detector.incidents.store import FILE, IncidentStore
from detector.options import Options
from detector.replay import Past, ReplayError, judge_of_past
from detector.report.answer import NotFoundError, answer, check_together, rendering
from detector.report.comparison import report_of_comparison
from detector.report.document import Report
from detector.report.levels import Levels, levels_of
from detector.service import build_source, state_directory
from detector.settings import Settings
from detector.source import SourceError

Progress = Callable[[str, float], bool]


def report(
    options: Options, settings: Settings, environment: Mapping[str, str], clock: Clock, progress: Progress
) -> str:
    """The text of the report that the command line asks for.

    Raises:
        AskError: a flag is wrong, or two do not go together.
        NotFoundError: there is no such incident, or none are remembered.
        ReplayError, RecordingError, SourceError: a past cannot be read.
    """
    _, write = rendering({"format": options.form}, "md")
    recording = "" if options.recording == Path() else str(options.recording)
    named = {"incident": options.incident, "instance": options.instance}
    check_together({**named, **_times(options), "beside": options.beside, "recording": recording}, "--")
    if options.beside or recording:
        return write(_compared(options, settings, clock, progress))
    directory = state_directory(settings, environment)
    try:
        found = _remembered(directory, _fields(options, clock))
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotFoundError(f"the incidents in {directory} cannot be read: {reason}") from None
    if found.data.get("incidents") == [] and options.instance and options.from_time and options.to_time:
        with suppress(SourceError, ReplayError):  # the samples of that time may be gone
            found = _compared(options, settings, clock, progress)
    return write(found)


def _remembered(directory: Path | None, fields: Mapping[str, str]) -> Report:
    """Out of the file of a detector, which may be running."""
    if directory is None or not (directory / FILE).is_file():
        raise NotFoundError(
            f"no incidents are remembered in {directory or 'state.directory'}: --state.directory names another folder, "
            "--beside compares samples"
        )
    store = IncidentStore(directory, read_only=True)
    try:
        found = answer(store, fields)
    except NotFoundError as error:
        raise NotFoundError(f"{error} in {directory}") from None
    finally:
        store.close()
    nothing = found.data.get("incidents") == []
    return replace(found, lead=f"{found.lead} What is remembered was read in {directory}.") if nothing else found


def _times(options: Options) -> dict[str, str]:
    return {"at": options.at_time, "from": options.from_time, "to": options.to_time}


def _fields(options: Options, clock: Clock) -> dict[str, str]:
    times = _times(options).items()
    seconds = {name: repr(asked_time(text, f"--{name}", clock.wall_s())) for name, text in times if text}
    return {"incident": options.incident, "instance": options.instance, **seconds}


def _compared(options: Options, settings: Settings, clock: Clock, progress: Progress) -> Report:
    """The stretch that is asked for beside the one named, else beside the time of the same length before it."""
    if not options.from_time or not options.to_time:
        raise AskError("--from and --to must say which stretch of time is compared")
    this = asked_stretch(options.from_time, options.to_time, options.instance, clock.wall_s())
    beside = _beside(options.beside, this, clock)
    if beside.instance == this.instance and beside.to_s > this.from_s and this.to_s > beside.from_s:
        raise AskError("--beside: the two stretches of time must not overlap")

    def levels(stretch: Stretch) -> Levels:
        return _levels(stretch, options, settings, clock, progress)

    return report_of_comparison(levels(this), levels(beside), signatures())


def _beside(text: str, this: Stretch, clock: Clock) -> Stretch:
    """``FROM/TO`` is another time of the same host, anything else another host at the same time."""
    if not text:
        return Stretch(this.from_s - (this.to_s - this.from_s), this.from_s, this.instance)
    if "/" in text:
        start, _, end = text.partition("/")
        return asked_stretch(start, end, this.instance, clock.wall_s(), ("--beside: FROM", "--beside: TO"))
    return Stretch(this.from_s, this.to_s, text)


def _levels(stretch: Stretch, options: Options, settings: Settings, clock: Clock, progress: Progress) -> Levels:
    past = _past(stretch, options, settings, clock)
    judge = judge_of_past(settings, past.interval_s)
    found = levels_of(past, stretch.from_s, stretch.to_s, judge, lambda done: progress(past.host.instance, done))
    if found is None:
        raise ReplayError(
            f"{past.host.instance}: there are no samples between {stretch.from_s:.0f} and {stretch.to_s:.0f}"
        )
    return found


def _past(stretch: Stretch, options: Options, settings: Settings, clock: Clock) -> Past:
    if options.recording != Path():
        pasts = list(recorded(options.recording, stretch))
    else:
        pasts = list(stored(build_source(settings, clock), settings, stretch))
    if len(pasts) != 1:
        names = ", ".join(past.host.instance for past in pasts)
        raise AskError(
            f"--instance: must be one of {names}" if pasts else f"nobody is called {stretch.instance!r} there"
        )
    return pasts[0]
