"""Whether runs of one workload are more like each other than like those of others, metric by metric.

A run is told by the quantiles of a metric in it, relative to the mean of its turn; two are as far apart as these are on
average, which comes near https://en.wikipedia.org/wiki/Wasserstein_metric. How much farther a workload's runs are from
those of others than from each other is compared with what any other choice of one run of each turn gives: workloads
take turns in an order that is drawn for each, so what drifts on the host is in all choices alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

Numbers = npt.NDArray[np.intp]

QUANTILES = np.linspace(0.05, 0.95, 10)
SIGNIFICANT = 0.05
_MOST_MISSING = 0.5
_ALIKE = 1e-9  # relative: sums in another order are not the same to the last bit


@dataclass(frozen=True, slots=True)
class Stability:
    """``share`` of workload-metric pairs with p < 0.05, ``chance_share`` with the workloads of each turn shuffled;
    ``ratio``: median over pairs of the distance within a workload to that between; ``pairs``, of ``metrics``."""

    share: float
    chance_share: float
    ratio: float
    pairs: int
    metrics: int


def profile(values: Floats) -> Floats:
    """Quantiles float64[Q, C] of the samples [T, C] of a run; NaN for a metric that is missing in half of them."""
    found: Floats = np.full((len(QUANTILES), values.shape[1]), np.nan)
    there = np.isnan(values).mean(axis=0) < _MOST_MISSING
    found[:, there] = np.nanquantile(values[:, there], QUANTILES, axis=0)
    return found


def distances(profiles: Floats) -> Floats:
    """Of each metric between the runs [R, Q]: float64[R, R]."""
    found: Floats = np.abs(profiles[:, None, :] - profiles[None, :, :]).mean(axis=2)
    return found


def levelled(profiles: Floats, turns: Numbers) -> Floats:
    """Runs [R, Q] relative to the mean of their turn."""
    found = profiles.copy()
    for turn in np.unique(turns):
        found[turns == turn] -= found[turns == turn].mean(axis=0)
    return found


def many_choices(turns: Numbers) -> int:
    """How many ways there are to choose one run of each turn int[R]."""
    return prod(np.unique(turns, return_counts=True)[1].tolist())


def choices(turns: Numbers, most: int, random: np.random.Generator) -> Floats:
    """Indicators [P, R] of all choices of one run of each turn where those are at most ``most``, else of so many."""
    each = [np.flatnonzero(turns == turn) for turn in np.unique(turns)]
    if many_choices(turns) <= most:
        rows = np.array(list(product(*each)))
    else:
        rows = np.stack([random.choice(runs, most) for runs in each], axis=1)
    indicators = np.zeros((len(rows), len(turns)))
    np.put_along_axis(indicators, rows, 1.0, axis=1)
    return indicators


def apart(distance: Floats, chosen: Floats) -> tuple[Floats, Floats]:
    """Mean distance [P] within the runs that each of the indicators [P, R] chooses, and from them to the others."""
    each, to_chosen = chosen.sum(axis=1), chosen @ distance
    within = (to_chosen * chosen).sum(axis=1) / (each * (each - 1))
    between = (to_chosen * (1 - chosen)).sum(axis=1) / (each * (distance.shape[0] - each))
    return within, between


def p_value(observed: float, others: Floats, exact: bool) -> float:
    """Share of choices that part the runs as far or farther; one of random choices is counted as the observed one."""
    hair = _ALIKE * max(abs(observed), float(np.abs(others).max(initial=0.0)))
    beyond = int((others >= observed - hair).sum())
    return beyond / len(others) if exact else (beyond + 1) / (len(others) + 1)


def stability(profiles: Floats, workloads: Sequence[str], turns: Numbers, most: int) -> Stability:
    """Of runs [R, Q, C] of workloads that took turns; metrics that never change, or lack in a run, say nothing."""
    random, names = np.random.default_rng(0), np.array(workloads)
    varies = np.isfinite(profiles).all(axis=(0, 1)) & (np.ptp(profiles, axis=0) > 0).any(axis=0)
    chosen, exact = choices(turns, most, random), many_choices(turns) <= most
    each = _indicators(names)
    shuffled = names.copy()
    for turn in np.unique(turns):
        shuffled[turns == turn] = random.permutation(names[turns == turn])
    chance = _indicators(shuffled)
    p, chance_p, ratios = [], [], []
    for column in np.flatnonzero(varies):
        distance = distances(levelled(profiles[:, :, column], turns))
        others = _parted(distance, chosen)
        p += [p_value(one, others, exact) for one in _parted(distance, each)]
        chance_p += [p_value(one, others, exact) for one in _parted(distance, chance)]
        within, between = apart(distance, each)
        ratios += np.divide(within, between, out=np.ones_like(within), where=between > 0).tolist()
    return Stability(_share(p), _share(chance_p), float(np.median(ratios)), len(p), int(varies.sum()))


def _indicators(names: npt.NDArray[np.str_]) -> Floats:
    """One row [R] for each name."""
    found: Floats = np.asarray(np.unique(names)[:, None] == names, dtype=np.float64)
    return found


def _parted(distance: Floats, chosen: Floats) -> Floats:
    within, between = apart(distance, chosen)
    return between - within


def _share(p: Sequence[float]) -> float:
    return float(np.mean(np.array(p) < SIGNIFICANT)) if p else float("nan")
