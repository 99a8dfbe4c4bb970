"""k-means of each metric by itself, several models that must agree, and the share of metrics that are unusual.

As Netdata documents it (https://learn.netdata.cloud/docs/ai-and-machine-learning/ml-configuration): two clusters of the
last five differences of a metric, each smoothed over three samples; a sample is unusual for a model where it is further
from the clusters than 99 % of the way to the furthest it was trained on, and unusual where all models say so; a host is
where more than 1 % of its metrics are. What differs, since a run lasts minutes and not days: six models instead of
eighteen, each trained on half of the baseline, which overlap as there, and a share that is averaged over ten seconds
instead of five minutes.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MODELS, CLUSTERS = 6, 2
SMOOTH, LAG = 3, 5
SCORE_LIMIT, HOST_LIMIT = 0.99, 0.01
AVERAGE_S = 10
_ITERATIONS = 1000


def shapes(values: Floats) -> Floats:
    """What is clustered of one metric, values[T] at 1 s: its last differences at each sample, [T, LAG + 1].

    NaN where the metric or its past is missing.
    """
    changes = np.diff(values, prepend=np.nan)
    smooth = np.full(len(values), np.nan)
    if len(values) >= SMOOTH:
        smooth[SMOOTH - 1 :] = np.lib.stride_tricks.sliding_window_view(changes, SMOOTH).mean(axis=1)
    lagged = np.full((len(values), LAG + 1), np.nan)
    for lag in range(LAG + 1):
        lagged[lag:, lag] = smooth[: len(values) - lag]
    return lagged


def unusual(values: Floats, trained: int) -> Bools:
    """Which samples of one metric, values[T] at 1 s, all models of its first ``trained`` samples find unusual."""
    rows = shapes(values)
    known: Bools = np.asarray(np.isfinite(rows).all(axis=1), dtype=np.bool_)
    agreed = known.copy()
    length = trained // 2
    for first in np.linspace(0, trained - length, MODELS).astype(np.intp):
        part = slice(first, first + length)
        learned = rows[part][known[part]]
        if len(learned) < 2 * CLUSTERS or np.ptp(learned, axis=0).max() == 0:
            return np.zeros(len(values), dtype=bool)  # a constant teaches nothing
        agreed[known] &= _scores(learned, rows[known]) > SCORE_LIMIT
    return agreed


def _scores(learned: Floats, rows: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct samples than clusters
        model = KMeans(CLUSTERS, n_init=1, max_iter=_ITERATIONS, random_state=0).fit(learned)
    near, far = np.quantile(_distances(learned, model.cluster_centers_), (0, 1))
    return np.asarray((_distances(rows, model.cluster_centers_) - near) / max(far - near, 1e-12), dtype=np.float64)


def _distances(rows: Floats, centres: Floats) -> Floats:
    """Mean distance of each row to the clusters' centres."""
    return np.asarray(np.linalg.norm(rows[:, None, :] - centres[None], axis=2).mean(axis=1), dtype=np.float64)


def alarmed(values: Floats, trained: int) -> Bools:
    """At which samples of values[T, S] at 1 s the host is unusual."""
    with threadpool_limits(1):  # more threads than such small fits can use only wait for each other
        bits = np.stack([unusual(column, trained) for column in values.T], axis=1)
    share = bits.mean(axis=1)
    averaged = np.convolve(share, np.ones(AVERAGE_S) / AVERAGE_S)[: len(share)]
    return np.asarray(averaged > HOST_LIMIT, dtype=np.bool_)
