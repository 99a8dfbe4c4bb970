"""The method of the paper that this program follows, as printed: three detectors that flag one window in a hundred.

"Detecting Anomalies in Systems for AI Using Hardware Telemetry", https://arxiv.org/abs/2510.26008. Its thresholds flag
a hundredth of a healthy host's windows by construction: the flags are for comparison, and nobody is paged on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from detector.frame import Floats
from detector.training import align

if TYPE_CHECKING:
    from sklearn.ensemble import IsolationForest

CONTAMINATION = 0.01
EXPLAINED = 0.95  # of the variance, by the components that Mahalanobis' distance is taken in
Z_SHARE = 0.99  # of the features have a smaller |z| than what a window is judged by
AGREEMENT, MAJORITY = "agreement", 2


@dataclass(frozen=True, slots=True, eq=False)
class PaperModel:
    """Fitted on one table of windows; ``bounds`` are each statistic's 99th percentile on that same table."""

    names: tuple[str, ...]
    mean: Floats
    deviation: Floats
    components: Floats
    variance: Floats
    forest: IsolationForest
    bounds: Mapping[str, float]

    def statistics(self, z: Floats) -> dict[str, Floats]:
        """What each detector says [N] of standardised windows [N, F]; higher is worse."""
        inside = z @ self.components.T
        return {
            "zscore": np.quantile(np.abs(z), Z_SHARE, axis=1),
            "mahalanobis": np.sqrt((inside**2 / self.variance).sum(axis=1)),
            "forest": -self.forest.score_samples(z),
        }

    def flags(self, x: Floats, names: tuple[str, ...]) -> Mapping[str, bool]:
        """Which detectors flag the window ``x`` float64[F] under ``names``, and whether most of them do."""
        values = self.statistics(_standardised(align(x[None, :], names, self.names), self.mean, self.deviation))
        flags = {name: bool(values[name][0] > bound) for name, bound in self.bounds.items()}
        return MappingProxyType(flags | {AGREEMENT: sum(flags.values()) >= MAJORITY})


def fit_paper(x: Floats, names: tuple[str, ...]) -> PaperModel | None:
    """From windows float64[N, F] of a healthy host; features that are missing or constant are left out.

    None where no feature is left.
    """
    from sklearn.decomposition import PCA
    from sklearn.ensemble import IsolationForest

    filled = np.where(np.isnan(x).all(axis=0), 0.0, x)
    varying = np.nanmax(filled, axis=0) > np.nanmin(filled, axis=0)
    if not varying.any():
        return None
    x, names = x[:, varying], tuple(np.array(names)[varying].tolist())
    mean, deviation = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    z = _standardised(x, mean, deviation)
    pca = PCA(EXPLAINED, svd_solver="full").fit(z)
    forest = IsolationForest(contamination=CONTAMINATION, random_state=0).fit(z)
    model = PaperModel(names, mean, deviation, pca.components_, pca.explained_variance_, forest, {})
    bounds = {name: float(np.quantile(values, 1 - CONTAMINATION)) for name, values in model.statistics(z).items()}
    return PaperModel(names, mean, deviation, pca.components_, pca.explained_variance_, forest, bounds)


def _standardised(x: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Deviations from the mean in standard deviations [N, F]; what is missing counts as typical."""
    z: Floats = np.nan_to_num((x - mean) / deviation)
    return z
