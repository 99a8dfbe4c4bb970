"""Robust scaling: how far a feature is from its typical value, in its own spread.

The spread never falls below the floor that the catalog declares, so that a constant series neither always
scores nor never does, and a side that the catalog calls harmless counts as no deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catalog.signal import Scale, Worse
from detector.features import Feature
from detector.frame import Floats

MAD_TO_SIGMA = 1.4826
TAIL_RANGE_TO_SIGMA = 1 / (2 * 1.6449)  # 5th to 95th percentile of a normal distribution
LEAST_SPREAD = {Scale.LINEAR: 1.0, Scale.RELATIVE: 0.3}  # one floor; a change by about a third


@dataclass(frozen=True, slots=True)
class Scaler:
    """``median`` and ``spread`` float64[F] on the deviation scale; ``sign`` +1, -1 or 0: the only side that counts."""

    median: Floats
    spread: Floats
    sign: Floats

    def deviations(self, x: Floats) -> Floats:
        """Signed deviations [N, F] in spreads; missing features stay NaN, harmless sides become 0."""
        z = (x - self.median) / self.spread
        return np.where(self.sign * z < 0, 0.0, z)


def fit_scaler(x: Floats, features: tuple[Feature, ...]) -> Scaler:
    """Typical value and spread of each column of ``x`` [N, F]; all-NaN columns get median 0."""
    assert x.shape[1] == len(features), f"{x.shape[1]} columns for {len(features)} features"
    empty = np.isnan(x).all(axis=0)
    known = np.where(empty, 0.0, x)
    low, median, high = np.nanpercentile(known, [5, 50, 95], axis=0)
    mad = np.nanmedian(np.abs(known - median), axis=0)
    least = np.array([LEAST_SPREAD[feature.channel.scale] for feature in features])
    # A bursty channel rests at one value most of the time: its MAD is 0, its tail range is not.
    spread = np.maximum.reduce([MAD_TO_SIGMA * mad, TAIL_RANGE_TO_SIGMA * (high - low), least])
    return Scaler(median, spread, np.array([_sign(feature) for feature in features]))


def _sign(feature: Feature) -> float:
    # Restlessness is bad news on either side of a channel's mean, and calm on neither.
    return abs(_SIGN[feature.channel.worse]) if feature.statistic == "deviation" else _SIGN[feature.channel.worse]


_SIGN = {Worse.HIGHER: 1.0, Worse.LOWER: -1.0, Worse.EITHER: 0.0}
