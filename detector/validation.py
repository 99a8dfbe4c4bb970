"""``validate``: tries the configuration out without judging anything, and says what running it will take."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np

from catalog.duration import format_duration
from catalog.signal import JUDGED_SUBSYSTEMS
from detector import schedule
from detector.clock import Clock
from detector.detectors.registry import registered
from detector.discovery import Described, describe
from detector.fetch import without_password
from detector.frame import Frame
from detector.listening import listen
from detector.pipeline import features_at
from detector.readable import duration
from detector.service import build_source, state_directory
from detector.settings import AUTOMATIC, Setting, Settings, walk
from detector.sink import Judged
from detector.sinks.metrics import values
from detector.source import Host, Source, SourceError, discover
from detector.training import MOST_ROWS, MOST_TIMES, MOST_VALUES
from detector.verdict import Phase, Verdict
from detector.watch import judge_for

_JUDGING_CPU_S = 0.0025  # of a window of 280 features, without making them, on a virtual machine
_CONCEALED = "<secret>"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one host takes: seconds of CPU a window, bytes of memory."""

    host: Host
    read_s: float
    cpu_s: float
    features: int
    memory_bytes: float
    stride_s: float


@dataclass(slots=True)
class Report:
    """All that was found. ``problems`` name the setting that is wrong, ``notes`` what is worth to know."""

    given: Mapping[str, str]
    address: str
    hosts: Sequence[Described] = ()
    costs: Sequence[Cost] = ()
    series: int = 0
    alarms_per_day: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def validate(settings: Settings, environment: Mapping[str, str], clock: Clock) -> Report:
    """Ask each question of a running detector once."""
    source = build_source(settings, clock)
    report = Report(dict(given(settings)), source.address)
    report.problems += [*_state(settings, environment), *_web(settings)]
    try:
        report.hosts = describe(source, settings)
        report.costs = list(_costs(source, report.hosts, settings))
        report.notes += _past(source, report.hosts, settings)
        for one in _judged(report)[:1]:
            source.constants(one.host)
    except SourceError as error:
        report.problems.append(f"{_address_key(settings)}: {error}")
    else:
        report.problems += _hosts(report.hosts, settings, clock)
    finally:
        source.close()
    report.notes += _notes(report, settings)
    judged = _judged(report)
    report.series = series_of_a_host() * len(judged)
    most = [_most_per_day(one, settings) for one in judged]
    for kind, asked in settings.alarms_per_host_day:
        report.alarms_per_day[kind] = sum(min(asked, each) for each in most)
    return report


def _judged(report: Report) -> list[Described]:
    return [one for one in report.hosts if not one.trouble]


def given(settings: Settings) -> Iterator[tuple[str, str]]:
    """Keys that differ from their default, each with its value as it may be shown."""
    tree = settings.model_dump(by_alias=True)
    for setting in walk():
        value: Any = tree
        for key in setting.path:
            value = value[key]
        if value != setting.field.get_default(call_default_factory=True):
            yield setting.key, _shown(setting, value)


def _shown(setting: Setting, value: Any) -> str:
    """A value without the passwords in it; each of several URLs has its own."""
    if setting.is_secret:
        return _CONCEALED
    if isinstance(value, tuple):
        return setting.written(tuple(map(without_password, value)))
    return without_password(setting.written(value))


def series_of_a_host() -> int:
    """How many series the detector publishes of a host that has a model and no episode open."""
    verdict = Verdict(
        "x",
        0.0,
        Phase.CALIBRATED,
        score=0.0,
        detectors=dict.fromkeys(registered(), 0.0),
        shares=dict.fromkeys(JUDGED_SUBSYSTEMS, 0.0),
        fitted_s=0.0,
    )
    none = np.empty(0)
    frame = Frame("x", none, none.reshape(0, 0), ())
    judged = Judged(Host("x"), verdict, frame, 1.0, 1.0, 0.0, 0.0)
    return sum(map(len, values(judged, "http://x").values()))


def _address_key(settings: Settings) -> str:
    chosen = settings.source.chosen
    return f"source.{chosen}.{discover()[chosen].address_key}"


def _hosts(hosts: Sequence[Described], settings: Settings, clock: Clock) -> Iterator[str]:
    """What is wrong with who was found."""
    for one in hosts:
        if one.trouble:
            yield f"{_address_key(settings)}: {one.host.instance} cannot be judged: {one.trouble}"
    jobs = getattr(settings.source.settings, "job", ())
    if hosts:
        return
    if not jobs:
        yield f"{_address_key(settings)}: no exporter that is known is scraped there"
        return
    others = _jobs(settings, clock)
    told = f"they are in {', '.join(others)}" if others else "nor in any other"
    yield f"source.{settings.source.chosen}.job: there are no hosts in {', '.join(jobs)}; {told}"


def _jobs(settings: Settings, clock: Clock) -> list[str]:
    """All jobs that have hosts."""
    every = settings.source.settings.model_copy(update={"job": ()})
    sources = settings.source.model_copy(update={settings.source.chosen: every})
    source = build_source(settings.model_copy(update={"source": sources}), clock)
    try:
        return sorted({host.job for host in source.hosts()})
    finally:
        source.close()


def _costs(source: Source, hosts: Sequence[Described], settings: Settings) -> Iterator[Cost]:
    """What a window of each host takes, from reading one."""
    horizon_s = schedule.horizon_s(settings.baseline.duration_s, settings.window.duration_s)
    for one in hosts:
        if one.trouble:
            continue
        judge = judge_for(settings, one.interval_s)
        end_s = source.newest_s(one.host)
        frame = source.read(one.host, end_s - judge.lookback_s, end_s)
        begun_cpu_s = time.process_time()
        features = len(features_at(frame, np.array([end_s]), judge).features)
        rows = max(MOST_ROWS, min(MOST_VALUES // max(features, 1), MOST_TIMES * MOST_ROWS))
        memory_bytes = 4.0 * rows * features + 8.0 * (horizon_s / one.interval_s) * one.series
        cpu_s = one.read_cpu_s + time.process_time() - begun_cpu_s + _JUDGING_CPU_S
        yield Cost(one.host, one.read_s, cpu_s, features, memory_bytes, judge.stride_s)


def _state(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """Whether models can be saved where they are to be."""
    directory = state_directory(settings, environment)
    if directory is None or settings.state.directory == AUTOMATIC:
        return
    try:
        there = next(folder for folder in (directory, *directory.absolute().parents) if folder.exists())
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        yield f"state.directory: {directory} cannot be used: {error.strerror or error}"
        return
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield f"state.directory: {directory} cannot be used: {there} cannot be written to"


def _web(settings: Settings) -> Iterator[str]:
    """Whether the pages can be served; a detector that runs already may hold the port."""
    address = settings.web.listen_address
    try:
        listen(address).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            yield f"web.listen_address: {address} cannot be used: {error.strerror}"


def _notes(report: Report, settings: Settings) -> Iterator[str]:
    """What is not wrong and worth to know."""
    hosts = _judged(report)
    learning_s = max((_learning_s(one, settings) for one in hosts), default=0.0)
    if learning_s > settings.baseline.duration_s:
        yield (
            f"baseline.duration: {duration(settings.baseline.duration_s)} hold too few windows of a host that is "
            f"scraped so rarely; its first model takes {duration(learning_s)}"
        )
    yield from _budgets(hosts, settings)
    slow = [cost for cost in report.costs if cost.read_s > cost.stride_s / 2]
    if slow:
        yield f"window.stride: reading {slow[0].host.instance} took {slow[0].read_s:.1f} s, more than half of a stride"


def _past(source: Source, hosts: Sequence[Described], settings: Settings) -> Iterator[str]:
    """Where less of the past is there than is to be learned from."""
    wanted_s = settings.baseline.history_s
    there_s = [
        (source.newest_s(one.host) - source.oldest_s(one.host), one.host.instance) for one in hosts if not one.trouble
    ]
    shortest_s, name = min(there_s, default=(inf, ""))
    if shortest_s < wanted_s:
        yield (
            f"baseline.history: of {name} the source has {duration(shortest_s)}, less than {duration(wanted_s)}; where "
            "that is no whole baseline the rest is waited for"
        )


def _budgets(hosts: Sequence[Described], settings: Settings) -> Iterator[str]:
    """Which alarm budgets are larger than what some hosts can be held to."""
    most, rarest = min(((_most_per_day(one, settings), one) for one in hosts), key=itemgetter(0), default=(inf, None))
    for kind, asked in settings.alarms_per_host_day:
        if rarest is not None and asked > most:
            yield (
                f"alarms_per_host_day.{kind}: {asked:g} a day cannot be reached where samples are so far apart; "
                f"{rarest.host.instance}, sampled every {format_duration(round(rarest.interval_s, 1))}, is held to "
                f"{most:.3g}"
            )


def _most_per_day(one: Described, settings: Settings) -> float:
    return judge_for(settings, one.interval_s).most_per_day(bool(one.host.peer))


def _learning_s(one: Described, settings: Settings) -> float:
    judge = judge_for(settings, one.interval_s)
    return judge.least_rows * judge.stride_s + judge.settling_s
