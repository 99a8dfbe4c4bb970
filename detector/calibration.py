"""Calibration: from a score of any kind to a tail probability and to the scale on which 1.0 is the bound.

Tails follow Pickands-Balkema-de Haan: excesses over a high level are generalised Pareto, fitted by probability
weighted moments (Hosking & Wallis 1987, https://doi.org/10.2307/1269343). With little data the tail is
exponential and the bound a margin over the worst that held-out data showed, and is called provisional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

ENOUGH_EXCESSES = 50
MAXIMA_SHARE = 0.1  # of them are the tail that a bound is set on: none lies lower
MOST_SHAPE = 0.5
SEEN_MARGIN = 1.1  # what the model in use has been fitted on does not alarm it
MARGIN, PAGE_MARGIN = 1.25, 1.5
LEAST_BOUND = 1.0  # normalised scores: the high end of what single windows usually have is 1.0
MOST_SCORE = 10.0
SAMPLE_POINTS = 257


@dataclass(frozen=True, slots=True)
class Tail:
    """P(value > x) = rate * (1 + shape * (x - level) / scale) ** (-1 / shape) above ``level``; shape 0: exponential."""

    level: float
    rate: float
    scale: float
    shape: float

    def log_survival(self, x: Floats) -> Floats:
        """Natural logarithm of P(value > x), float64[N], for x at or above the level."""
        excess = np.maximum(x - self.level, 0.0) / self.scale
        decay = excess if self.shape < 1e-6 else np.log1p(self.shape * excess) / self.shape
        result: Floats = np.log(self.rate) - decay
        return result

    def quantile(self, p: float) -> float:
        """The value exceeded with probability ``p``, for p at or below ``rate``."""
        ratio = self.rate / p
        grow = np.log(ratio) if self.shape < 1e-6 else (ratio**self.shape - 1.0) / self.shape
        return float(self.level + self.scale * grow)


def fit_tail(values: Floats, rate: float, pareto: bool) -> Tail:
    """Tail of ``values`` float64[N] above their ``1 - rate`` quantile."""
    level = float(np.quantile(values, 1.0 - rate))
    excess = np.sort(values[values > level] - level)
    least = 1e-3 * max(1.0, abs(level))
    if not pareto or len(excess) < 2:
        # The median, since among a dozen excesses one burst sets the mean.
        middle = float(np.median(excess)) if len(excess) else 0.0
        return Tail(level, rate, max(middle / np.log(2.0), least), 0.0)
    mean = float(excess.mean())
    # Second probability weighted moment, with Hosking's plotting positions.
    weight = 1.0 - (np.arange(1, len(excess) + 1) - 0.35) / len(excess)
    second = float((weight * excess).mean())
    shape = 2.0 - mean / (mean - 2.0 * second) if mean > 2.0 * second else MOST_SHAPE
    # A bounded tail would call anything beyond the data impossible: never lighter than exponential.
    shape = float(np.clip(shape, 0.0, MOST_SHAPE))
    return Tail(level, rate, max(mean * (1.0 - shape), least), shape)


def alarm_statistic(scores: Floats, votes: int, of: int) -> Floats:
    """The ``votes``-th largest of the last ``of`` scores, float64[N]: above a bound exactly when the alarm rule holds.

    Before so many windows have passed, those that are not there count as quiet; NaN scores count as quiet.
    """
    padded = np.concatenate([np.full(of - 1, -np.inf), np.where(np.isnan(scores), -np.inf, scores)])
    last = np.lib.stride_tricks.sliding_window_view(padded, of)
    return np.partition(last, of - votes, axis=1)[:, of - votes]


@dataclass(frozen=True, slots=True)
class Calibration:
    """``sample`` float64[Q]: quantiles of ``rows`` held-out values; the tail above them, and the two bounds."""

    sample: Floats
    rows: int
    tail: Tail
    bound: float
    page_bound: float
    provisional: bool

    def log_p(self, values: Floats) -> Floats:
        """Natural logarithm of the tail probability of each value, float64[N], not clipped; NaN stays NaN."""
        position = np.interp(values, self.sample, np.linspace(0.0, 1.0, len(self.sample)))
        body = np.log(np.clip(1.0 - position, self.tail.rate, 1.0 - 1.0 / (self.rows + 1)))
        return np.where(values > self.tail.level, self.tail.log_survival(values), body)

    def _log_alpha(self) -> float:
        return float(self.log_p(np.array([self.bound]))[0])

    def p_value(self, values: Floats) -> Floats:
        """Tail probability float64[N], no smaller than that of a score of ``MOST_SCORE``."""
        return np.exp(np.maximum(self.log_p(values), MOST_SCORE * self._log_alpha()))

    def score(self, values: Floats) -> Floats:
        """log p / log alpha, float64[N]: 1.0 at the bound, at most ``MOST_SCORE``."""
        return np.minimum(self.log_p(values) / self._log_alpha(), MOST_SCORE)

    def page_score(self) -> float:
        """The score that the alarm rule must hold at to page; infinity where too little was seen to page on."""
        if np.isinf(self.page_bound):
            return float("inf")
        return float(self.log_p(np.array([self.page_bound]))[0] / self._log_alpha())

    def to_header(self) -> dict[str, Any]:
        """All but the sample, as what fits JSON."""
        return {
            "rows": self.rows,
            "tail": asdict(self.tail),
            "bound": self.bound,
            "page_bound": None if np.isinf(self.page_bound) else self.page_bound,
            "provisional": self.provisional,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any], sample: Floats) -> Self:
        """The inverse of ``to_header``; raises KeyError or TypeError where something is missing."""
        page_bound = np.inf if header["page_bound"] is None else header["page_bound"]
        tail = Tail(**header["tail"])
        return cls(sample, header["rows"], tail, header["bound"], page_bound, header["provisional"])


@dataclass(frozen=True, slots=True)
class Rule:
    """``votes`` of the last ``of`` windows beyond the bound are an alarm, and may be so often on a healthy day."""

    votes: int
    of: int
    warning_per_day: float
    page_per_day: float

    def statistic(self, scores: Floats) -> Floats:
        """See ``alarm_statistic``."""
        return alarm_statistic(scores, self.votes, self.of)

    def level(self, scores: Sequence[float]) -> float:
        """The alarm statistic of the newest windows."""
        voting = sorted(score for score in scores[-self.of :] if not np.isnan(score))
        return voting[-self.votes] if len(voting) >= self.votes else -np.inf

    def shared(self, rules: int) -> Rule:
        """The rule with what is its own of a budget that so many share."""
        return replace(self, warning_per_day=self.warning_per_day / rules, page_per_day=self.page_per_day / rules)


def calibrate(
    held_out: Floats,
    runs: npt.NDArray[np.intp],
    maxima: Floats,
    maxima_per_day: float,
    rule: Rule,
    seen: float = 0.0,
    least_bound: float = LEAST_BOUND,
    margin: float = MARGIN,
) -> Calibration:
    """Calibrate on held-out values float64[N] of which ``runs`` intp[N] numbers the unbroken stretches.

    ``maxima`` float64[M]: largest alarm statistic of each past stretch of time, ``maxima_per_day`` of which make a day;
    with enough of them the bounds meet the budget, else the bound is provisional. ``seen`` is the largest
    alarm statistic of what the model was fitted on: it is within the bound. No bound is below ``least_bound``, and a
    provisional one is ``margin`` times the largest alarm statistic.
    """
    rows = len(held_out)
    assert rows >= 2, f"cannot calibrate on {rows} windows"
    pareto = rows * 0.05 >= ENOUGH_EXCESSES
    tail = fit_tail(held_out, 0.05 if pareto else 0.1, pareto)
    sample = np.quantile(held_out, np.linspace(0.0, 1.0, SAMPLE_POINTS))
    least = max(least_bound, seen, tail.level + tail.scale)
    if len(maxima) * MAXIMA_SHARE >= ENOUGH_EXCESSES:
        extremes = fit_tail(maxima, MAXIMA_SHARE, pareto=True)
        warning, page = (
            extremes.quantile(min(MAXIMA_SHARE, per_day / maxima_per_day))
            for per_day in (rule.warning_per_day, rule.page_per_day)
        )
        # A tail of few maxima runs on for ever; what is that far beyond all that was seen is no healthy host's.
        beyond = MARGIN * float(np.max(maxima))
        bound = max(least, min(warning, beyond))
        # Of what is done once a day, less than a day says nothing.
        page_bound = max(bound, min(page, PAGE_MARGIN * beyond)) if len(maxima) >= maxima_per_day else np.inf
        return Calibration(sample, rows, tail, bound, page_bound, provisional=False)
    largest = max(worst(held_out, runs, rule), float(np.max(maxima, initial=-np.inf)))
    bound = max(least, SEEN_MARGIN * seen, margin * largest)
    return Calibration(sample, rows, tail, bound, np.inf, provisional=True)


def worst(scores: Floats, runs: npt.NDArray[np.intp], rule: Rule) -> float:
    """Largest alarm statistic of scores float64[N] within any unbroken stretch."""
    stretches = [scores[runs == run] for run in np.unique(runs)]
    return max(float(rule.statistic(values).max()) for values in stretches)
