"""Collectors of perf events: which of them this host counts, how they fit its PMU, and one read for each group.

A group is counted whole or not at all, so it must not be larger than the PMU has counters:
https://man7.org/linux/man-pages/man2/perf_event_open.2.html
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import eq
from typing import ClassVar

import psutil

from catalog.family import Family, Tier
from exporter.collector import Context, PartedCollector, Unavailable, or_unavailable
from exporter.devices import CPUS_ONLINE
from exporter.parsing import cpus_of
from exporter.perf import LACKING, Event, close_group, open_event, open_group, why_not
from exporter.perfevents import Candidate
from exporter.perfscale import ENABLED, Scaled

_LOOKS_EVERY = {Tier.FAST: 10}  # readings between looks for other CPUs, as a look costs as much as reading a group
_PREFIX = "hostpulse_cpu_"
_FILES_FOR_OTHERS = 256
_TURNS_S = 0.02  # the kernel gives each group its turn every few milliseconds

Counted = tuple[Family, Event]


@dataclass(frozen=True, slots=True)
class Group:
    """Events that are counted together."""

    counted: tuple[Counted, ...]

    @property
    def name(self) -> str:
        """That of its first event."""
        return _short(self.counted[0][0])

    @property
    def events(self) -> tuple[Event, ...]:
        """The events."""
        return tuple(event for _, event in self.counted)


class _Counter:
    """One group on one CPU."""

    __slots__ = ("descriptors", "leader", "scaled", "series")

    def __init__(self, group: Group, cpu: int, running: Family | None) -> None:
        self.descriptors = open_group(group.events, cpu)
        self.leader = self.descriptors[0]
        self.scaled = Scaled(len(group.counted))
        own = (running(cpu, group.name),) if running is not None else ()
        self.series = (*(family(cpu) for family, _ in group.counted), *own)

    def values(self, data: bytes) -> list[float]:
        """One value for each of ``series``."""
        totals = self.scaled(data)
        return totals if len(totals) == len(self.series) else [*totals, self.scaled.running_ratio]


_Taken = tuple[tuple[_Counter, ...], Sequence[bytes]]


class PerfCollector(PartedCollector):
    """A subclass says which events: ``candidates`` gives for each family the ways to count it, the best one first.

    Groups are opened when a CPU comes, and dropped when it goes, as the kernel never counts on with those that it had.
    To read another CPU's group the kernel interrupts that CPU and waits, which is what most of the cost is.
    """

    candidates: ClassVar[Mapping[Family, tuple[Candidate, ...]]]
    running: ClassVar[Family | None] = None
    """The family that says how much of the time each group was counted."""
    largest_group: ClassVar[int] = 4
    """More events than this are never put into a group; where a PMU has fewer counters the groups are smaller."""

    budget_share = 0.1  # of what files may cost, as other CPUs are interrupted for it

    def __init__(self, context: Context) -> None:
        host = context.host
        if not host.live:
            raise Unavailable("/proc is not this machine's: perf would count on another host than the one looked at")
        self._counters: Mapping[int, tuple[_Counter, ...]] = {}
        self._opened: tuple[_Counter, ...] = ()
        self._laid_out: tuple[_Counter, ...] = ()
        self._looked: tuple[tuple[_Counter, ...], list[bytes]] = ((), [])
        self._running = self.running if self.running is not None and context.wants(self.running) else None
        self._takes = 0
        self.series = ()
        with or_unavailable():
            self._online_file = host.hold(CPUS_ONLINE)
        try:
            self._online = self._online_file.read()
            cpus = sorted(cpus_of(self._online, CPUS_ONLINE))
            self._groups, self.note = self._plan(context, cpus)
            self._follow(cpus)
        except OSError as error:
            self.close()
            raise Unavailable(why_not(error, host)) from error
        except (Unavailable, ValueError):
            self.close()
            raise
        self._lay_out(self._opened)

    def _plan(self, context: Context, cpus: Sequence[int]) -> tuple[tuple[Group, ...], str]:
        """The groups, and what had to be left out, for people."""
        found, lacking = self._supported(context, cpus[0])
        if not found:
            raise Unavailable("the hardware, or the virtual machine, counts none of these events")
        afforded = found[: _files_left() // len(cpus)]
        if not afforded:
            raise Unavailable(f"{len(cpus)} CPUs need more open files than are left (ulimit -n, LimitNOFILE=)")
        notes = [f"not counted by this hardware: {', '.join(lacking)}"] if lacking else []
        if dropped := [_short(family) for family, _ in found[len(afforded) :]]:
            notes.append(f"left out for the limit of open files (LimitNOFILE=): {', '.join(dropped)}")
        return tuple(grouped(afforded, cpus[0], self.largest_group)), "; ".join(notes)

    def _supported(self, context: Context, cpu: int) -> tuple[list[Counted], list[str]]:
        found: list[Counted] = []
        lacking: list[str] = []
        for family, candidates in self.candidates.items():
            if context.wants(family):
                events = (candidate.on(context.host) for candidate in candidates)
                event = next((event for event in events if event is not None and _counts(event, cpu)), None)
                if event is None:
                    lacking.append(_short(family))
                else:
                    found.append((family, event))
        return found, lacking

    def _follow(self, cpus: Iterable[int]) -> None:
        """Count on these CPUs, and on no others."""
        before, after = dict(self._counters), dict[int, tuple[_Counter, ...]]()
        self._counters = after
        try:
            for cpu in cpus:
                after[cpu] = before.pop(cpu, ()) or self._open(cpu)
        finally:
            for counter in chain.from_iterable(before.values()):
                close_group(counter.descriptors)
            self._opened = tuple(chain.from_iterable(after.values()))

    def _open(self, cpu: int) -> tuple[_Counter, ...]:
        opened: list[_Counter] = []
        try:
            for group in self._groups:
                opened.append(_Counter(group, cpu, self._running))  # noqa: PERF401 - those before a failure are closed
        except OSError as error:
            for counter in opened:
                close_group(counter.descriptors)
            if error.errno not in LACKING:
                raise
            return ()  # the CPU has gone again, or is of another kind
        return tuple(opened)

    def take(self) -> _Taken:
        """The counters as they are now, and what each of them says."""
        self._takes += 1
        looks = self._takes % _LOOKS_EVERY.get(self.tier, 1) == 0
        if looks and (online := self._online_file.read()) != self._online:
            self._follow(sorted(cpus_of(online, CPUS_ONLINE)))
            self._online = online
        read, opened = os.read, self._opened
        readings = [read(counter.leader, counter.scaled.size_bytes) for counter in opened]
        if looks:
            self._renew(opened, [data[ENABLED] for data in readings])
        return opened, readings

    def _renew(self, opened: tuple[_Counter, ...], enabled: list[bytes]) -> None:
        """Open anew what stands still since the last look: of a CPU that was away meanwhile, which leaves it dead."""
        before, self._looked = self._looked, (opened, enabled)
        if opened is not before[0] or not any(map(eq, enabled, before[1])):
            return
        dead = {counter for counter, now, then in zip(opened, enabled, before[1], strict=True) if now == then}
        self._follow([cpu for cpu, counters in self._counters.items() if dead.isdisjoint(counters)])
        self._follow(sorted(cpus_of(self._online, CPUS_ONLINE)))

    def parse(self, taken: _Taken) -> list[float]:
        """Totals since the counters were opened, NaN where the PMU was busy with others."""
        opened, readings = taken
        if opened is not self._laid_out:
            self._lay_out(opened)
        values: list[float] = []
        for counter, data in zip(opened, readings, strict=True):
            values += counter.values(data)
        return values

    def _lay_out(self, opened: tuple[_Counter, ...]) -> None:
        self._laid_out = opened
        self.series = tuple(chain.from_iterable(counter.series for counter in opened))

    def close(self) -> None:
        """Stop counting."""
        self._online_file.close()
        self._follow(())


def _short(family: Family) -> str:
    return family.name.removeprefix(_PREFIX).removesuffix("_total")


def _counts(event: Event, cpu: int) -> bool:
    try:
        os.close(open_event(event, cpu))
    except OSError as error:
        if error.errno in LACKING:
            return False
        raise
    return True


def grouped(counted: Sequence[Counted], cpu: int, largest: int) -> Iterable[Group]:
    """The events in groups that the PMU of a CPU counts whole, in their order."""
    left = tuple(counted)
    while left:
        sizes = range(min(largest, len(left)), 1, -1)
        size = next((size for size in sizes if _fits(Group(left[:size]), cpu)), 1)
        yield Group(left[:size])
        left = left[size:]


def _fits(group: Group, cpu: int) -> bool:
    """Whether the PMU takes a group, and gets round to it: others may hold some of the counters for good."""
    try:
        descriptors = open_group(group.events, cpu)
    except OSError as error:
        if error.errno in LACKING:
            return False
        raise
    scaled, until_s = Scaled(len(group.counted)), time.monotonic() + _TURNS_S
    while not scaled.running_ratio > 0.0 and time.monotonic() < until_s:
        scaled(os.read(descriptors[0], scaled.size_bytes))
    close_group(descriptors)
    return scaled.running_ratio > 0.0


def _files_left() -> int:
    """How many more files may be opened, with some kept for connections and for other collectors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(0, soft - psutil.Process().num_fds() - _FILES_FOR_OTHERS)
