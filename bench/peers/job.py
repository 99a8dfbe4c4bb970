"""A simulated job: hosts with common phases, each with its own gain and noise with heavy tails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from catalog.series import Series
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Scale, Worse
from detector.channels import Channel, Channels
from detector.features import Features, extract
from detector.frame import Floats
from detector.judge import DAY_S

INTERVAL_S, WINDOW_S = 1.0, 3.0
HOSTS, SERIES, SHIFTED = 8, 60, 6
_PHASES_PER_DAY, _PHASE_SIZE = 48, 10.0  # deviations of noise
_SLOW_S, _FREEDOM = 90.0, 4.0
_FLOOR = 0.25

CHANNELS = tuple(
    Channel(
        Series(f"series_{number}"),
        "1",
        JUDGED_SUBSYSTEMS[number % len(JUDGED_SUBSYSTEMS)],
        Role.SATURATION,
        Worse.EITHER,
        _FLOOR,
        Scale.LINEAR,
    )
    for number in range(SERIES)
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What hosts are like: how much their gains differ, and which part of the variance of their noise is slow."""

    name: str
    gain_spread: float
    slow: float


KINDS = (Kind("alike", 0.0, 0.0), Kind("gains", 0.1, 0.0), Kind("slow noise", 0.1, 0.5))


class Job:
    """Samples once a second, float64[T, S] of each host; a seed gives the same job again."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self._kind = kind
        self._chance = np.random.default_rng(seed)
        self._gain = np.exp(kind.gain_spread * self._chance.standard_normal((HOSTS, SERIES)))

    def samples(self, rows: int) -> list[Floats]:
        """So many of all hosts; noise has deviation 1."""
        phases = round(_PHASES_PER_DAY * rows / DAY_S)
        edges = np.sort(self._chance.uniform(0, rows, phases))
        levels = self._chance.uniform(0, _PHASE_SIZE, (phases + 1, SERIES))
        phase = levels[np.searchsorted(edges, np.arange(rows))]
        return [gain * phase + self._noise(rows) for gain in self._gain]

    def _noise(self, rows: int) -> Floats:
        fast = self._chance.standard_t(_FREEDOM, (rows, SERIES)) * np.sqrt(1 - 2 / _FREEDOM)
        keep = np.exp(-INTERVAL_S / _SLOW_S)
        white = np.sqrt(1 - keep**2) * self._chance.standard_normal((rows, SERIES))
        slow = lfilter([1.0], [1.0, -keep], white, axis=0)
        noise: Floats = np.sqrt(self._kind.slow) * slow + np.sqrt(1 - self._kind.slow) * fast
        return noise


def windows(samples: Floats, first_s: float) -> Features:
    """The window that ends with each sample [T, S]."""
    times_s = first_s + INTERVAL_S * np.arange(len(samples), dtype=np.float64)
    return extract(Channels(times_s, samples, CHANNELS), times_s, WINDOW_S)
