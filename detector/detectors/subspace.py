"""Subspace: a principal component model of how features move together.

T2, the Mahalanobis distance inside the subspace, and SPE, the residual outside it (Jackson & Mudholkar 1979,
https://doi.org/10.1080/00401706.1979.10489779), with each feature's residual over its own usual size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from detector.detectors.protocol import Detector, Layout, Scores, share_out
from detector.frame import Floats
from detector.high import high

EXPLAINED = 0.9  # share of the variance that the subspace holds, at most
MOST_COMPONENTS = 20
ROWS_PER_COMPONENT = 5
FIT_CLIP = 8.0  # one burst in the baseline must not become a direction of its own
REFERENCE_QUANTILE = 0.75  # a burst in the baseline must not set by how much both statistics are divided
_LEAST_RESIDUAL = 0.25  # squared spreads


@dataclass(frozen=True, slots=True)
class Subspace(Detector):
    """A model of the P distinct features by K components.

    ``centre`` float64[P], ``components`` float64[K, P], ``variance`` float64[K]; ``usual`` float64[P]: the high
    end of each squared residual; ``reference`` float64[2]: what T2 and SPE are in the baseline.
    """

    name: ClassVar[str] = "subspace"
    weight: ClassVar[float] = 2.0  # it stands for two statistics
    least_range: ClassVar[float] = 2.0

    layout: Layout
    centre: Floats
    components: Floats
    variance: Floats
    usual: Floats
    reference: Floats

    @classmethod
    def fit(cls, z: Floats, layout: Layout) -> Self:
        """See ``Detector``."""
        known = np.clip(np.nan_to_num(z[:, layout.distinct]), -FIT_CLIP, FIT_CLIP)
        centre = known.mean(axis=0)
        variance, directions = principal(known - centre)
        count = _components(variance, len(z))
        components = directions[:count]
        scores = (known - centre) @ components.T
        residual = known - centre - scores @ components
        usual = np.maximum(high(residual**2), _LEAST_RESIDUAL)
        t2 = (scores**2 / variance[:count]).sum(axis=1) if count else np.zeros(len(z))
        spe = (residual**2 / usual).sum(axis=1)
        reference = np.maximum(np.quantile(np.stack([t2, spe], axis=1), REFERENCE_QUANTILE, axis=0), 1e-3)
        return cls(layout, centre, components, variance[:count], usual, reference)

    def statistics(self, z: Floats) -> tuple[Floats, Floats]:
        """T2 float64[N], and each distinct feature's part of SPE float64[N, P]."""
        centred = np.nan_to_num(z[:, self.layout.distinct]) - self.centre
        scores = centred @ self.components.T
        residual = centred - scores @ self.components
        # A missing feature is taken as typical and must not be held against the window.
        residual = np.where(np.isnan(z[:, self.layout.distinct]), 0.0, residual)
        return (scores**2 / self.variance).sum(axis=1), residual**2 / self.usual

    def score(self, z: Floats) -> Scores:
        """See ``Detector``; the mean of both as distances, over their references."""
        t2, parts = self.statistics(z)
        score = self._distance(t2, parts)
        evidence = np.zeros(z.shape)
        evidence[:, self.layout.distinct] = parts
        return Scores(score, share_out(score, evidence))

    def rate(self, z: Floats) -> Floats:
        """See ``Detector``."""
        return self._distance(*self.statistics(z))

    def _distance(self, t2: Floats, parts: Floats) -> Floats:
        """Scores float64[N] of T2 [N] and the parts of SPE [N, P]."""
        spe = parts.sum(axis=1)
        distance: Floats = (np.sqrt(t2 / self.reference[0]) + np.sqrt(spe / self.reference[1])) / 2
        return distance

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """See ``Detector``."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], layout: Layout) -> Self:
        """See ``Detector``."""
        return cls(layout, *(arrays[name].astype(np.float64) for name in _ARRAYS))


_ARRAYS = ("centre", "components", "variance", "usual", "reference")


def principal(centred: Floats) -> tuple[Floats, Floats]:
    """Variances float64[P], the largest first, and principal directions [P, P] of rows [N, P] about their mean.

    From the covariance, which takes a tenth of what a singular value decomposition does; what that tells better are the
    smallest variances, which nobody asks for.
    """
    variance, directions = np.linalg.eigh(centred.T @ centred / max(1, len(centred) - 1))
    # Laid out as a saved model is, or the two would judge differently in the last digit.
    return np.maximum(variance[::-1], 0.0), np.ascontiguousarray(directions.T[::-1])


def _components(variance: Floats, rows: int) -> int:
    """How many components: enough for ``EXPLAINED``, few enough to be estimated from so many rows."""
    positive = int((variance > 1e-12 * max(1e-12, float(variance.max(initial=0.0)))).sum())
    if positive == 0 or variance.max() <= 1e-12:
        return 0
    enough = int(np.searchsorted(np.cumsum(variance) / variance.sum(), EXPLAINED)) + 1
    return max(1, min(enough, positive, MOST_COMPONENTS, rows // ROWS_PER_COMPONENT))
