"""Robust scaling: how far a feature is from its typical value, in its own spread.

The spread never falls below the floor that the catalog declares, so that a constant series neither always
scores nor never does, and a side that the catalog calls harmless counts as no deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from catalog.signal import Scale, Worse
from detector.features import Feature
from detector.frame import Floats
from detector.high import share_above

MAD_TO_SIGMA = 1.4826
LEAST_SPREAD = {Scale.LINEAR: 1.0, Scale.RELATIVE: 0.3}  # one floor; a change by about a third

_NORMAL = NormalDist()


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


def fit_scaler(x: Floats, features: tuple[Feature, ...], floors: float = 1.0) -> Scaler:
    """Typical value and spread of each column of ``x`` [N, F]; all-NaN columns get median 0.

    No spread is less than so many ``floors`` allow.
    """
    assert x.shape[1] == len(features), f"{x.shape[1]} columns for {len(features)} features"
    empty = np.isnan(x).all(axis=0)
    known = np.where(empty, 0.0, x)
    (median,) = _quantiles(known, (0.5,))
    above = share_above(len(x))
    mad, high = _quantiles(np.abs(known - median), (0.5, 1.0 - above))
    least = floors * np.array([LEAST_SPREAD[feature.channel.scale] for feature in features])
    # A bursty channel rests at one value most of the time: its MAD is 0, its high end is not.
    spread = np.maximum.reduce([MAD_TO_SIGMA * mad, high / _NORMAL.inv_cdf(1.0 - above / 2), least])
    return Scaler(median, spread, np.array([_sign(feature) for feature in features]))


def _quantiles(x: Floats, shares: tuple[float, ...]) -> Floats:
    """Quantiles [K, F] of what is known in each column of ``x`` [N, F], as ``np.nanquantile`` has them, but many times
    faster: that goes column by column, while one sort puts the NaN of all columns last."""
    ordered, known = np.sort(x, axis=0), (~np.isnan(x)).sum(axis=0)
    columns = np.arange(x.shape[1])
    place = np.array(shares)[:, None] * (known - 1)
    below = np.floor(place).astype(np.intp)
    lower, upper = ordered[below, columns], ordered[np.minimum(below + 1, known - 1), columns]
    result: Floats = lower + (upper - lower) * (place - below)
    return result


def _sign(feature: Feature) -> float:
    # Restlessness is bad news on either side of a channel's mean, and calm on neither.
    return abs(_SIGN[feature.channel.worse]) if feature.statistic == "deviation" else _SIGN[feature.channel.worse]


_SIGN = {Worse.HIGHER: 1.0, Worse.LOWER: -1.0, Worse.EITHER: 0.0}
