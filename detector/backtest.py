"""``backtest``: judges what a store or a file holds of a stretch of the past, and writes the scores where wanted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from catalog.duration import parse_duration
from detector import schedule
from detector.incidents.ask import EARLIEST_S, LATEST_S, AskError, asked_instance, date_s
from detector.recording import open_recordings
from detector.replay import Findings, Past, ReplayError, judge_of_past, judge_past, past_of
from detector.scores import ScoreFile, kind_of
from detector.settings import Settings
from detector.sink import Judged
from detector.source import Source

_SHOWN = 40
_NOW, _NUMBER = re.compile(r"now(?:-(.+))?"), re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when, seconds since the epoch, and of which host; "" for all."""

    from_s: float
    to_s: float
    instance: str = ""


def parse_time(text: str, now_s: float) -> float:
    """Seconds since the epoch of a time of RFC 3339, of a number of seconds, of ``now`` or ``now-6h``.

    >>> parse_time("2027-01-15T08:00:00Z", 0.0), parse_time("now-90m", 6000.0), parse_time("12.5", 0.0)
    (1800000000.0, 600.0, 12.5)

    Raises ValueError that says what is allowed.
    """
    seconds = _seconds(text, now_s)
    if not EARLIEST_S <= seconds <= LATEST_S:  # NaN is not either
        raise ValueError(
            f"{text[:_SHOWN]!r} is no time from 1970 to 9997: it may be 2027-01-15T08:00:00Z, seconds since the epoch, "
            "now, or now-6h"
        )
    return seconds


def asked_time(text: str, flag: str, now_s: float) -> float:
    """As ``parse_time``. Raises AskError that names the flag."""
    try:
        return parse_time(text, now_s)
    except ValueError as error:
        raise AskError(f"{flag}: {error}") from None


def asked_stretch(
    start: str, end: str, instance: str, now_s: float, flags: tuple[str, str] = ("--from", "--to")
) -> Stretch:
    """The stretch of a host between the times that two flags give. Raises AskError."""
    from_s, to_s = (asked_time(text, flag, now_s) for text, flag in zip((start, end), flags, strict=True))
    if not from_s < to_s:
        raise AskError(f"{flags[0]} must be before {flags[1]}")
    return Stretch(from_s, to_s, instance)


def _seconds(text: str, now_s: float) -> float:
    """NaN of what is no time."""
    match = _NOW.fullmatch(text)
    if match is None:
        return float(text) if _NUMBER.fullmatch(text) else date_s(text)
    try:
        return now_s - (parse_duration(match[1]) if match[1] else 0.0)
    except ValueError:
        return math.nan


def backtest(
    pasts: Iterable[Past],
    settings: Settings,
    stretch: Stretch,
    out: Sequence[Path],
    progress: Callable[[str, float], bool],
) -> Generator[Findings, None, None]:
    """What is found of each host, host after host. What lies before the stretch is learned from and not told.

    ``out`` are files for the scores; ``progress`` is told of whom how much is done, and says whether to stop.

    Raises:
        ReplayError: nothing can be said of any host. ScoreError: a file cannot be written. AskError: by its name it is
        of no kind that there is.
        SourceError, RecordingError: it cannot be read.
    """
    kinds = [kind_of(path) for path in out]
    coming = iter(pasts)
    first = next(coming, None)  # before a file is opened: what cannot be read must not cost the scores that are in it
    if first is None:
        raise ReplayError("nobody was there at that time")
    files: list[ScoreFile] = []

    def tell(judged: Judged) -> None:
        if not math.isnan(judged.verdict.score):
            for file in files:
                file.add(judged)

    with ExitStack() as stack:
        for kind, path in zip(kinds, out, strict=True):
            files.append(kind(path))
            stack.callback(files[-1].close)
        reasons = []
        count = 0
        for past in chain([first], coming):
            name = past.host.instance
            try:
                yield judge_past(past, settings, partial(progress, name), stretch.from_s, tell)
                count += 1
            except ReplayError as error:
                if progress(name, 1.0):
                    raise
                reasons.append(str(error))
        if not count:
            raise ReplayError("\n".join(reasons))


def recorded(path: Path, stretch: Stretch) -> Iterator[Past]:
    """The pasts of the hosts in a file or folder, up to the end of the stretch. Raises AskError, see ``stored``."""
    recordings = open_recordings(path)
    meant = asked_instance(stretch.instance, (recording.name for recording in recordings))
    for recording in recordings:
        if meant in ("", recording.name):
            past = past_of(recording)
            end_s = max(past.span_s[0], min(past.span_s[1], stretch.to_s))
            yield Past(past.host, past.interval_s, (past.span_s[0], end_s), past.frame)


def stored(source: Source, settings: Settings, stretch: Stretch) -> Iterator[Past]:
    """The pasts of the hosts that a source knew in the stretch, each from a baseline before it.

    Raises AskError where one is asked for and its name means several.
    """
    hosts = source.past_hosts(stretch.from_s, stretch.to_s)
    meant = asked_instance(stretch.instance, (host.instance for host in hosts))
    for host in hosts:
        interval_s = source.interval_s(host)
        if meant in ("", host.instance) and not math.isnan(interval_s):
            judge = judge_of_past(settings, interval_s)
            begin_s = stretch.from_s - schedule.horizon_s(judge.baseline_s, judge.window_s)
            yield Past(host, interval_s, (begin_s, stretch.to_s), partial(source.read, host))
