"""``discover``: which hosts a source has, who tells what of them, and what nobody tells."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from catalog import FAMILIES, SIGNALS
from catalog.exporters import EXPORTERS, OWN
from catalog.family import Subsystem
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Signal
from detector.channels import evaluate
from detector.diagnosis.library import signatures
from detector.diagnosis.probes import PROBES
from detector.diagnosis.signature import Signature
from detector.frame import Frame
from detector.settings import Settings
from detector.source import Host, Origin, Source, SourceError
from detector.watch import judge_for


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is told of one subsystem: signals that have values, and those that have none."""

    subsystem: str
    told: tuple[Signal, ...]
    missing: tuple[Signal, ...]

    @property
    def specific(self) -> tuple[Signal, ...]:
        """Missing signals that say that something is wrong and not only that much is done."""
        return tuple(signal for signal in self.missing if signal.role is not Role.UTILISATION)


@dataclass(frozen=True, slots=True)
class Described:
    """One host: who tells of it, how it will be judged, what it is judged by. ``trouble`` says why nothing is known.

    ``unnamed`` are the causes of which nothing is told that would show them.
    ``read_s`` and ``read_cpu_s`` are what reading it for the first time took, wall and CPU.
    """

    host: Host
    origins: tuple[Origin, ...] = ()
    interval_s: float = math.nan
    window_s: float = math.nan
    stride_s: float = math.nan
    coverage: tuple[Coverage, ...] = ()
    unnamed: tuple[Signature, ...] = ()
    series: int = 0
    channels: int = 0
    trouble: str = ""
    read_s: float = math.nan
    read_cpu_s: float = math.nan


def describe(source: Source, settings: Settings) -> list[Described]:
    """All hosts of a source, by name.

    Raises:
        SourceError: the source cannot be asked at all.
    """
    return [_described(source, host, settings) for host in sorted(source.hosts())]


def _described(source: Source, host: Host, settings: Settings) -> Described:
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    try:
        newest_s = source.newest_s(host)
        interval_s = source.interval_s(host)
        if math.isnan(newest_s) or math.isnan(interval_s):
            return Described(host, trouble="fewer than two samples so far")
        judge = judge_for(settings, interval_s)
        frame = source.read(host, newest_s - judge.lookback_s, newest_s)
        read_s, read_cpu_s = time.monotonic() - begun_s, time.process_time() - begun_cpu_s
        origins = tuple(source.origins(host))
    except SourceError as error:
        return Described(host, trouble=str(error))
    told, channels = _told(frame, SIGNALS.values())
    probed, _ = _told(frame, PROBES.values())
    coverage = tuple(_coverage(subsystem, told) for subsystem in JUDGED_SUBSYSTEMS)
    return Described(
        host=host,
        origins=origins,
        interval_s=interval_s,
        window_s=judge.window_s,
        stride_s=judge.stride_s,
        coverage=coverage,
        unnamed=tuple(_unnamed(coverage, told | probed)),
        series=len(frame.columns),
        channels=channels,
        read_s=read_s,
        read_cpu_s=read_cpu_s,
    )


def _told(frame: Frame, signals: Iterable[Signal]) -> tuple[set[str], int]:
    """Names of those signals that have a value in a frame, and how many channels they make."""
    channels = evaluate(frame, signals)
    known = (np.isfinite(values).any() for values in channels.values.T)
    names = [channel.series.name for channel, is_known in zip(channels.channels, known, strict=True) if is_known]
    return set(names), len(names)


def _coverage(subsystem: str, told: set[str]) -> Coverage:
    signals = [signal for signal in SIGNALS.values() if signal.subsystem == subsystem]
    return Coverage(
        subsystem,
        tuple(signal for signal in signals if signal.name in told),
        tuple(signal for signal in signals if signal.name not in told),
    )


def _unnamed(coverage: Iterable[Coverage], told: Set[str]) -> Iterator[Signature]:
    """The causes that need what is not told, without those of GPUs where nothing is told of any."""
    without = {one.subsystem for one in coverage if without_hardware(one)}
    for one in signatures().values():
        if one.subsystem not in without and not any(clue.needed and clue.signal in told for clue in one.clues):
            yield one


def tellers(signal: Signal) -> tuple[str, ...]:
    """Exporters that can tell a signal, where the host has what it is about.

    >>> tellers(SIGNALS["cpu_interrupt_imbalance_ratio"]), tellers(SIGNALS["gpu_power_watts"])
    (('hostpulse-exporter',), ('hostpulse-exporter', 'dcgm-exporter'))
    """
    families = [FAMILIES[name] for name in signal.expression.families()]
    others = (
        one.name
        for one in EXPORTERS
        if one is not OWN
        and all(any(alias.name.startswith(one.prefix) for alias in family.aliases) for family in families)
    )
    return (OWN.name, *others)


def showers(cause: Signature) -> tuple[str, ...]:
    """Exporters of which each alone can tell something that a cause needs, where the host has what it is about."""
    needed = (clue.signal for clue in cause.clues if clue.needed)
    shown = {name for signal in needed for name in tellers(SIGNALS.get(signal) or PROBES[signal])}
    return tuple(one.name for one in EXPORTERS if one.name in shown)


def alike(hosts: Iterable[Described]) -> Mapping[tuple[object, ...], Sequence[Described]]:
    """Hosts of which the same is told in the same way, together."""
    groups: dict[tuple[object, ...], list[Described]] = {}
    for one in hosts:
        exporters = tuple((origin.exporter, origin.families, round(origin.interval_s, 1)) for origin in one.origins)
        told = tuple(coverage.told for coverage in one.coverage)
        groups.setdefault((exporters, told, one.trouble), []).append(one)
    return groups


def without_hardware(coverage: Coverage) -> bool:
    """Whether nothing at all is told of GPUs, which many hosts have none of."""
    return coverage.subsystem == Subsystem.GPU and not coverage.told
