"""The sampler: reads every tier on a fixed grid of the monotonic clock and publishes the rows of a tick together.

Reads are *due* on the grid and stamped with when they began, so that rates stay right under a late tick. A tick that
was missed is counted and left out, never made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from threading import Lock
from typing import Any

from catalog.family import Tier
from catalog.series import Series
from exporter.ring import Ring, Schema
from exporter.slot import Reading, Slot
from exporter.steady import Clock
from exporter.tally import Pace, State, Tally
from exporter.unrest import Unrest
from exporter.worker import Worker

_MEDIUM_S, _SLOW_S = 1.0, 15.0
_MEDIUM_TICKS_UNPARSED = 2
_LONGEST_PARSING_S = 0.01
_LONGEST_SLEEP_S = 0.5
_LATEST = 0.5  # of a tier's interval: a value read later than this would give a rate that is off by as much
_SLOWER = {Tier.FAST: Tier.MEDIUM, Tier.MEDIUM: Tier.SLOW}
_FASTER = {slower: faster for faster, slower in _SLOWER.items()}

Row = tuple[Schema, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How often is read and how long a read may take: ``budget_s`` in the sampling thread, ``deadline_s`` off it.

    ``calm_interval_s`` is the fast tier's while the host is calm; 0 where it has but one interval.
    """

    interval_s: float = 0.1
    budget_s: float = 0.01
    deadline_s: float = 5.0
    gpu_interval_s: float = 1.0
    calm_interval_s: float = 0.0


@dataclass(slots=True)
class _Track:
    """One tier: its collectors, the layout of its rows and its place on the grid (every so many fast ticks)."""

    tier: Tier
    every: int
    pace: Pace
    finest_s: float | None = None
    slots: list[Slot] = field(default_factory=list)
    schema: Schema | None = None
    next_tick: int = 0
    layout: list[tuple[Series, ...]] = field(default_factory=list)

    def due(self, tick: int) -> bool:
        """Whether the tier is read at this fast tick; counts the tier's own ticks that were missed before."""
        if tick < self.next_tick:
            return False
        self.pace.overruns += (tick - self.next_tick) // self.every
        self.next_tick = (tick // self.every + 1) * self.every
        return True

    @property
    def idle(self) -> bool:
        """Whether there is nothing to read on this host."""
        return all(slot.off for slot in self.slots)

    @property
    def least_s(self) -> float:
        """The shortest time between its ticks."""
        return self.pace.interval_s if self.finest_s is None else self.finest_s

    def pace_by(self, every: int, tick: int) -> None:
        """Have it read every so many fast ticks after this one."""
        self.every, self.next_tick = every, (tick // every + 1) * every

    def row(self, stamp_s: float, readings: Iterable[Reading]) -> Row:
        """A row of what each of ``slots`` has read."""
        row, layout = [stamp_s], []
        for series, values in readings:
            row += values
            layout.append(series)
        if self.schema is None or layout != self.layout:
            self.layout = layout
            columns = tuple(chain.from_iterable(layout))
            self.schema = Schema(self.tier, self.pace.interval_s, columns, self.finest_s)
        return self.schema, row


@dataclass(frozen=True, slots=True)
class _Tick:
    """What one tick has taken, in the order of each track's slots."""

    stamp_s: float
    wall_s: float
    takes: Sequence[tuple[_Track, list[Any]]]

    def rows(self) -> list[Row]:
        """The rows that come of it, once all that was taken has been finished."""
        return [track.row(self.stamp_s, readings) for track, readings in self.takes]


def _finish(ticks: Iterable[_Tick]) -> None:
    """Make readings of what the ticks have taken.

    That goes collector by collector, not tick by tick: what parses a file is then in the CPU's caches but for once.
    """
    by_track: dict[Tier, list[tuple[float, _Track, list[Any]]]] = {}
    for tick in ticks:
        for track, taken in tick.takes:
            by_track.setdefault(track.tier, []).append((tick.wall_s, track, taken))
    for takes in by_track.values():
        _, track, _ = takes[0]
        for at, slot in enumerate(track.slots):
            for wall_s, _, taken in takes:
                taken[at] = slot.finish(taken[at], wall_s)


class _Lane:
    """A thread beside the sampling thread that reads one track on its grid, and at times others in the same go."""

    def __init__(self, track: _Track, worker: Worker) -> None:
        self.track = track
        self.batch: list[_Track] = []
        self._worker = worker

    @property
    def resting(self) -> bool:
        """Whether no read is under way; a read past its deadline is left to itself."""
        return self._worker.finished() is not None

    def begin(self, tick: int, wall_s: float, others: Sequence[_Track]) -> bool:
        """Start what is due unless reads are under way; whether ``others`` are now read with it."""
        if self.batch:
            if self.track in self.batch and self.track.due(tick):
                self.track.pace.overruns += 1
            return False
        due = [self.track] if self.track.due(tick) else []
        self.batch = [*due, *others]
        self._worker.start(chain.from_iterable(track.slots for track in self.batch), wall_s)
        return True

    def collect(self) -> list[tuple[_Track, dict[str, Reading]]]:
        """What was read, by track, once all of it has been."""
        readings = self._worker.finished() if self.batch else None
        if readings is None:
            return []
        # A track of nothing but what this host does not have (GPUs, mostly) has no rows and no time.
        done = [(track, readings) for track in self.batch if not track.idle or track.tier is not Tier.GPU]
        self.batch = []
        return done


class Sampler:
    """Drives the collectors: ``tick`` takes what is due, ``run`` calls it on time until ``stop``.

    What was taken is parsed when somebody wants it. A lock keeps ticks and parsing apart, as collectors know of no
    threads; a tick that had to wait for it is stamped with when it got its turn.
    """

    def __init__(self, slots: Sequence[Slot], ring: Ring, tally: Tally, clock: Clock, limits: Limits) -> None:
        self._ring, self._tally, self._clock, self._limits = ring, tally, clock, limits
        self._lock = Lock()
        self._taken: list[_Tick] = []
        self._housekeeping_due = False
        self._static_due = True
        self._stopping = False
        self._calm_every = max(1, round(limits.calm_interval_s / limits.interval_s))
        self._tracks = {tier: self._track(tier) for tier in Tier}
        self._here = [self._tracks[tier] for tier in _SLOWER]
        self._fast = self._tracks[Tier.FAST]
        self._unrest = Unrest(self._fast.pace.interval_s) if self._calm_every > 1 else None
        self._slow, self._gpu = (
            _Lane(self._tracks[tier], Worker(limits.deadline_s, clock.monotonic)) for tier in (Tier.SLOW, Tier.GPU)
        )
        self._most_unparsed = _MEDIUM_TICKS_UNPARSED * self._tracks[Tier.MEDIUM].every
        self._may_wait = 1
        self._schemas: list[Schema | None] = [None] * len(self._tracks)
        self._subsystems = {family.name: family.subsystem for slot in slots for family in slot.kind.families}
        for slot in slots:
            if slot.wanted:
                self._tracks[slot.tier].slots.append(slot)

    def _track(self, tier: Tier) -> _Track:
        wishes_s = {Tier.MEDIUM: _MEDIUM_S, Tier.SLOW: _SLOW_S, Tier.GPU: self._limits.gpu_interval_s}
        wished_s = wishes_s.get(tier, 0.0)
        every = max(1, round(wished_s / self._limits.interval_s))
        pace = self._tally.paces[tier]
        calm = tier is Tier.FAST and self._calm_every > 1
        # 0.6, not 0.6000000000000001
        ticks_s = round((self._calm_every if calm else every) * self._limits.interval_s, 9)
        pace.interval_s = 0.0 if tier is Tier.STATIC else ticks_s
        if calm:
            return _Track(tier, every, pace, self._limits.interval_s)
        return _Track(tier, every, pace)

    def run(self) -> None:
        """Tick on the grid until ``stop``; the first tick is due now."""
        started_s, tick, interval_s = self._clock.monotonic(), 0, self._limits.interval_s
        while self._wait_until(started_s + tick * interval_s):
            late_s = self._clock.monotonic() - (started_s + tick * interval_s)
            self._fast.pace.lateness_s.append(late_s)
            tick += int(late_s / interval_s)
            self.tick(tick)
            tick = self._next(tick)

    def _next(self, tick: int) -> int:
        """The next tick with something to do: any, while something is read beside this thread."""
        if self._unrest is None or self._static_due or self._slow.batch or self._gpu.batch:
            return tick + 1
        tracks = [*self._here, self._slow.track, *[self._gpu.track] * bool(self._gpu.track.slots)]
        return max(tick + 1, min(track.next_tick for track in tracks))

    def stop(self) -> None:
        """Have ``run`` return at its next tick, or within half a second where ticks are far apart."""
        self._stopping = True

    def _wait_until(self, due_s: float) -> bool:
        """Sleep; False once the sampler is to stop. Long waits are cut up, so that stopping need not wake a sleeper."""
        while not self._stopping and (left_s := due_s - self._clock.monotonic()) > 0:
            self._clock.wait(min(left_s, _LONGEST_SLEEP_S))
        return not self._stopping

    def tick(self, tick: int, latest: float = _LATEST) -> None:
        """Take what is due at fast tick number ``tick``, all stamped with the same time; ``flush`` publishes it.

        What is read later than ``latest`` intervals after that time is left out.
        """
        with self._lock:
            began_s, wall_s = self._clock.monotonic(), self._clock.wall()
            due = [track for track in self._here if tick >= track.next_tick and track.due(tick)]
            done = self._slow.collect() + self._gpu.collect()
            for track in due + [track for track, _ in done]:
                track.pace.ticks += 1
                track.pace.sampled_at_s = wall_s  # before any read, as a collector publishes it with what it dates
            takes = [(track, self._take(track, began_s + latest * track.least_s, wall_s)) for track in due]
            if self._unrest is not None and self._fast in due:
                self._pace(self._unrest, tick, began_s, takes[0][1])
            takes += [
                (track, [readings.get(slot.name) or slot.gap for slot in track.slots]) for track, readings in done
            ]
            if takes:
                self._taken.append(_Tick(self._clock.steady(began_s), wall_s, takes))
            self._housekeeping_due |= any(track is not self._fast for track, _ in takes)
            if len(self._taken) * self._fast.every >= self._may_wait:
                self._flush()
            if self._static_due or tick >= self._slow.track.next_tick:
                static = self._tracks[Tier.STATIC]
                fails = any(slot.health.state is State.FAILING for slot in static.slots)
                statics = [static] if self._static_due or fails else []
                self._static_due &= not self._slow.begin(tick, wall_s, statics)
            if tick >= self._gpu.track.next_tick and self._gpu.track.slots:
                self._gpu.begin(tick, wall_s, ())
                if self._gpu.track.idle:  # look again for a driver only as often as the slow tier
                    self._gpu.track.next_tick = max(self._gpu.track.next_tick, self._slow.track.next_tick)

    def _pace(self, unrest: Unrest, tick: int, now_s: float, taken: Sequence[Any]) -> None:
        """Settle when the fast tier is next read, by what was just taken for it."""
        seen = {slot.name: slot.glance(part) for slot, part in zip(self._fast.slots, taken, strict=True)}
        self._fast.pace_by(1 if unrest.unsettled(now_s, seen) else self._calm_every, tick)

    def _take(self, track: _Track, latest_s: float, wall_s: float) -> list[Any]:
        """What each collector of a tier takes, gaps for those that are later than they may be."""
        taken, monotonic = [], self._clock.monotonic
        before_s = monotonic()
        for slot in track.slots:
            part = slot.take(wall_s)
            now_s = monotonic()
            slot.take_s = now_s - before_s
            before_s = now_s
            taken.append(part if now_s <= latest_s else slot.late())
        return taken

    def flush(self) -> None:
        """Parse and publish what has been taken by now. Readers call it; without any it is done every two seconds."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if not self._taken:
            return
        started_s = self._clock.monotonic()
        _finish(self._taken)
        for taken in self._taken:
            self._ring.append(taken.rows())
        # On a large host parsing is long, and a tick would have to wait for many of them: there fewer may pile up.
        each_s = (self._clock.monotonic() - started_s) / len(self._taken)
        self._may_wait = max(1, min(self._most_unparsed, int(_LONGEST_PARSING_S / max(each_s, 1e-9))))
        self._taken.clear()
        if self._housekeeping_due:
            self._housekeep()
            self._housekeeping_due = False

    def _housekeep(self) -> None:
        """What need not be done for every fast tick."""
        for track in self._here:
            self._demote(track)
        for tier in _FASTER:
            self._take_back(self._tracks[tier])
        for tier, pace in self._tally.paces.items():
            pace.rows = self._ring.rows(tier)
        schemas = [track.schema for track in self._tracks.values()]
        if schemas != self._schemas:
            self._note_layout(schemas)

    def _demote(self, track: _Track) -> None:
        """Move collectors that keep taking too long to the next slower tier."""
        for slot in [slot for slot in track.slots if slot.over_budget(self._limits.budget_s)]:
            slot.demote(_SLOWER[track.tier], self._limits.budget_s)
            self._change_track(slot, track)

    def _take_back(self, track: _Track) -> None:
        """Move collectors that no longer take too long to the next faster tier, unless they may be being read now."""
        if track is self._slow.track and self._slow.batch:
            return
        for slot in [slot for slot in track.slots if slot.fits_again(self._limits.budget_s)]:
            slot.take_back(_FASTER[track.tier], self._limits.budget_s)
            self._change_track(slot, track)

    def _change_track(self, slot: Slot, before: _Track) -> None:
        before.slots.remove(slot)
        self._tracks[slot.tier].slots.append(slot)

    def _note_layout(self, schemas: list[Schema | None]) -> None:
        """Count series. A device that came or went may also change what is read only once."""
        columns = chain.from_iterable(schema.columns for schema in schemas if schema is not None)
        self._tally.series = dict(Counter(self._subsystems[series.name] for series in columns))
        for track, now, before in zip(self._tracks.values(), schemas, self._schemas, strict=True):
            self._static_due |= track.tier is not Tier.STATIC and before is not None and now is not before
        self._schemas = schemas

    @property
    def resting(self) -> bool:
        """Whether no read is under way beside the sampling thread."""
        return self._slow.resting and self._gpu.resting

    def settle(self) -> None:
        """Take two samples of every tier that can differ between them: what a single exposition needs."""
        self.tick(0, inf)  # nobody makes rates of two samples
        self._clock.wait(self._limits.interval_s)
        while not self.resting:
            self._clock.wait(0.005)
        second = self._tracks[Tier.MEDIUM].every
        self._fast.next_tick = second  # those in between are left out on purpose
        self._gpu.track.next_tick = second + 1  # what was read of it is enough
        self.tick(second, inf)
