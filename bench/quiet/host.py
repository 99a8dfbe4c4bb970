"""A simulated healthy host: jobs with phases, requests by the hour of the day, short programs, noise; from a seed.

Noise is half slow (an autoregressive process of a minute and a half) and half new at each sample, from Student's t
distribution of four degrees of freedom: values six deviations out come every few hours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from bench.quiet.series import DRIVES, EVENTS, SHORT, Line
from catalog.family import Kind
from detector.channels import TIER_INTERVAL_S
from detector.frame import Floats, Frame

START_S = 1_800_000_000.0
DAY_S, HOUR_S = 86400.0, 3600.0
_SLOW_S, _SLOW_SHARE, _FREEDOM, _FARTHEST = 90.0, 0.5, 4.0, 12.0
_GAIN_SPREAD = 0.1  # hosts, and devices of one host, differ by as much
_SHORT_PER_DAY, _SHORT_S = 3.0, 12.0
_HOURLY_S, _DAILY_S = 4.0, 60.0  # how long the programs run that are due then
_WARMING_S, _CACHE_S = 90.0, 2 * HOUR_S

Rows = slice


@dataclass(frozen=True, slots=True)
class Profile:
    """What a host is for. ``idle_h`` between jobs, NaN without jobs; ``serve`` is the mean strength of requests."""

    name: str
    idle_h: float
    job_h: float
    serve: float


PROFILES = (
    Profile("training", 0.5, 5.0, 0.05),
    Profile("mixed", 2.0, 1.0, 0.3),
    Profile("serving", np.nan, np.nan, 0.7),
    Profile("idle", np.nan, np.nan, 0.02),
)


@dataclass(frozen=True, slots=True)
class Signals:
    """Rates (counters) and levels (gauges) float64[T, S] at ``elapsed_s`` float64[T] since ``START_S``; ``noise``
    float64[T, S] is the standard deviation of what is by chance in them."""

    elapsed_s: Floats
    values: Floats
    noise: Floats

    def rows(self, which: Rows) -> Signals:
        """Some of them."""
        return Signals(self.elapsed_s[which], self.values[which], self.noise[which])


class SimulatedHost:
    """Goes on for as long as it is asked; at most ``days``. The same seed gives the same host.

    Hosts of one ``job`` have its phases and steps together, and all else each for itself.
    """

    def __init__(
        self,
        lines: tuple[Line, ...],
        profile: Profile,
        seed: int,
        interval_s: float,
        days: float,
        job: int | None = None,
    ) -> None:
        self.lines, self.interval_s = lines, interval_s
        self._chance = np.random.default_rng(seed if job is None else [seed, job])
        shared = self._chance if job is None else np.random.default_rng(job)
        self._rows = 0
        self._edges_s, self._levels = _phases(profile, days * DAY_S, shared)
        self._short = _short_programs(days, self._chance)
        self._serve, self._noon_s = profile.serve, float(self._chance.uniform(0.0, DAY_S))
        self._step_s = float(shared.uniform(2.0, 8.0))
        self._rest = np.array([line.rest for line in lines])
        gains = np.exp(_GAIN_SPREAD * self._chance.standard_normal(len(lines)))
        self._added = np.array([[line.added.get(drive, 0.0) for line in lines] for drive in DRIVES]) * gains
        self._relative = np.array([line.noise for line in lines])
        self._events = np.array([line.noise == EVENTS and line.family.kind is Kind.COUNTER for line in lines])
        self._slow = _Slow(_SLOW_S, interval_s, self._chance.standard_normal(len(lines)))
        self._serve_slow = _Slow(600.0, interval_s, self._chance.standard_normal(1))
        self._lags = {drive: _Lag(span_s, interval_s) for drive, span_s in (("heat", _WARMING_S), ("cache", _CACHE_S))}

    def next(self, rows: int) -> Signals:
        """The next so many samples."""
        elapsed_s = self.interval_s * np.arange(self._rows + 1, self._rows + rows + 1, dtype=np.float64)
        self._rows += rows
        size = np.maximum(self._rest + self._drives(elapsed_s) @ self._added, 0.0)
        slow = self._slow.next(self._chance.standard_normal(size.shape))
        fast = np.clip(self._chance.standard_t(_FREEDOM, size.shape), -_FARTHEST, _FARTHEST)
        by_chance = np.sqrt(_SLOW_SHARE) * slow + np.sqrt((1 - _SLOW_SHARE) * (1 - 2 / _FREEDOM)) * fast
        values = size * np.maximum(1.0 + self._relative * by_chance, 0.0)
        counts = self._chance.poisson(size[:, self._events] * self.interval_s)
        values[:, self._events] = counts / self.interval_s
        noise = self._relative * size
        noise[:, self._events] = np.sqrt(size[:, self._events] / self.interval_s)
        return Signals(elapsed_s, values, noise)

    def _drives(self, elapsed_s: Floats) -> Floats:
        """How strong each drive is, float64[T, D]."""
        phase = self._levels[np.searchsorted(self._edges_s, elapsed_s, side="right") - 1]
        drives = dict(zip(("compute", "save", "job"), phase.T, strict=True))
        if self.interval_s < self._step_s / 2:
            drives["compute"] = drives["compute"] * (0.95 + 0.05 * np.sin(2 * np.pi * elapsed_s / self._step_s))
        daily = 1.0 + 0.6 * np.sin(2 * np.pi * (elapsed_s - self._noon_s) / DAY_S)
        slow = self._serve_slow.next(self._chance.standard_normal((len(elapsed_s), 1)))[:, 0]
        drives["serve"] = self._serve * daily * np.exp(0.15 * slow)
        drives["heat"] = self._lags["heat"].next(drives["compute"])
        drives["cache"] = np.minimum(1.0, 10.0 * self._lags["cache"].next(drives["save"]))
        for program in SHORT:
            drives[program] = np.zeros(len(elapsed_s))
        for program, start_s, end_s, size in self._short:
            if end_s > elapsed_s[0] - self.interval_s and start_s < elapsed_s[-1]:
                within = np.minimum(elapsed_s, end_s) - np.maximum(elapsed_s - self.interval_s, start_s)
                drives[program] += size * np.clip(within / self.interval_s, 0.0, 1.0)
        return np.stack([drives[drive] for drive in DRIVES], axis=1)


class _Slow:
    """Autoregressive noise [T, S] of variance 1 from white noise [T, S], carried on from call to call."""

    def __init__(self, span_s: float, interval_s: float, first: Floats) -> None:
        self._keep = float(np.exp(-interval_s / span_s))
        self._last = first

    def next(self, white: Floats) -> Floats:
        """The next rows."""
        fed = np.sqrt(1 - self._keep**2) * white
        result: Floats = lfilter([1.0], [1.0, -self._keep], fed, axis=0, zi=self._keep * self._last[None, :])[0]
        self._last = result[-1]
        return result


class _Lag:
    """What follows another quantity [T] with a delay, carried on from call to call."""

    def __init__(self, span_s: float, interval_s: float) -> None:
        self._keep = float(np.exp(-interval_s / span_s))
        self._last = 0.0

    def next(self, leader: Floats) -> Floats:
        """The next values."""
        fed = (1 - self._keep) * leader
        result: Floats = lfilter([1.0], [1.0, -self._keep], fed, zi=[self._keep * self._last])[0]
        self._last = float(result[-1])
        return result


def _phases(profile: Profile, span_s: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Times float64[K] from which levels [K, 3] of compute, save and job hold."""
    edges_s, levels, now_s = [-np.inf], [(0.0, 0.0, 0.0)], 0.0
    while np.isfinite(profile.idle_h) and now_s < span_s:
        now_s += chance.exponential(profile.idle_h * HOUR_S)
        end_s = now_s + profile.job_h * HOUR_S * chance.lognormal(0.0, 0.6)
        strength, memory = chance.uniform(0.7, 1.0), chance.uniform(0.6, 1.0)
        every_s, save_s, save = chance.uniform(600.0, 2700.0), chance.uniform(20.0, 120.0), chance.uniform(0.5, 1.0)
        edges_s.append(now_s)
        levels.append((0.1, 0.1, memory))
        now_s += chance.uniform(30.0, 120.0)
        while now_s < end_s:
            edges_s += [now_s, now_s + every_s]
            levels += [(strength, 0.0, memory), (0.15, save, memory)]
            now_s += every_s + save_s * chance.uniform(0.8, 1.2)
        edges_s.append(now_s)
        levels.append((0.0, 0.0, 0.0))
    return np.array(edges_s), np.array(levels)


def _short_programs(days: float, chance: np.random.Generator) -> list[tuple[str, float, float, float]]:
    """Program, start, end and size of each: some at any time, a small one each hour, a large one each day."""
    kinds, found = tuple(SHORT), []
    for start_s in np.sort(chance.uniform(0.0, days * DAY_S, chance.poisson(days * _SHORT_PER_DAY))):
        length_s = min(2.0 + chance.exponential(_SHORT_S), 10 * _SHORT_S)
        found.append((str(chance.choice(kinds)), start_s, start_s + length_s, chance.lognormal(-0.5, 0.7)))
    hourly, daily = (str(kind) for kind in chance.choice(kinds, 2))
    minute_s, time_s = chance.uniform(0.0, HOUR_S), chance.uniform(0.0, DAY_S)
    found += [(hourly, at, at + _HOURLY_S, 0.3) for at in np.arange(minute_s, days * DAY_S, HOUR_S)]
    return found + [(daily, at, at + _DAILY_S, 0.8) for at in np.arange(time_s, days * DAY_S, DAY_S)]


class Recorder:
    """Makes of signals what an exporter would have recorded: counters that go on, and each tier at its own interval."""

    def __init__(self, instance: str, lines: tuple[Line, ...], interval_s: float) -> None:
        self._instance, self._columns = instance, tuple(line.series for line in lines)
        self._interval_s = interval_s
        self._counters = np.array([line.family.kind is Kind.COUNTER for line in lines])
        self._every = np.array([max(1, round(TIER_INTERVAL_S[line.family.tier] / interval_s)) for line in lines])
        self.totals = np.zeros(len(lines))

    def frame(self, signals: Signals, added: Floats | float = 0.0) -> Frame:
        """The frame of the next samples, with what is ``added`` float64[T, S] to their rates and levels."""
        values = np.maximum(signals.values + added, 0.0)
        counted = self.totals + np.cumsum(values * self._interval_s, axis=0)
        self.totals = counted[-1]
        numbers = np.round(signals.elapsed_s / self._interval_s).astype(np.int64)
        recorded = np.where(self._counters, counted, values)
        recorded[numbers[:, None] % self._every != 0] = np.nan
        return Frame(self._instance, START_S + signals.elapsed_s, recorded, self._columns)
