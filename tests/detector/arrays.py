"""Arrays with gaps, as property tests draw them, and features to go with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from catalog.series import Series
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Scale, Worse
from detector.channels import Channel
from detector.features import STATISTICS, Feature
from detector.frame import Floats

NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False)


def tables(
    elements: st.SearchStrategy[float] = NUMBERS, rows: tuple[int, int] = (1, 12), columns: tuple[int, int] = (1, 4)
) -> st.SearchStrategy[Floats]:
    """float64[N, F] in which values may be missing."""
    shapes = st.tuples(st.integers(*rows), st.integers(*columns))
    return npst.arrays(np.float64, shapes, elements=elements | st.just(np.nan))


def times_s(count: int, seed: int = 0) -> Floats:
    """Increasing times float64[T] with uneven steps around 0.1 s."""
    return 1.8e9 + np.cumsum(np.random.default_rng(seed).uniform(0.05, 0.15, count))


def channel(
    name: str = "a",
    subsystem: str = "cpu",
    scale: Scale = Scale.LINEAR,
    floor: float = 1.0,
    worse: Worse = Worse.EITHER,
    role: Role = Role.SATURATION,
) -> Channel:
    """A channel of no particular signal."""
    return Channel(Series(name), "1/s", subsystem, role, worse, floor, scale)


def features_of(channels: Sequence[Channel], statistic: str = "mean") -> tuple[Feature, ...]:
    """One feature of each channel."""
    assert statistic in STATISTICS
    return tuple(Feature(one, statistic) for one in channels)


def plain_features(count: int) -> tuple[Feature, ...]:
    """Features of so many channels, the judged subsystems taking turns."""
    return features_of(
        [channel(f"c{number}", JUDGED_SUBSYSTEMS[number % len(JUDGED_SUBSYSTEMS)]) for number in range(count)]
    )
