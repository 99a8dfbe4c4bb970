"""A host's model: scaling, pruning, the detectors and the calibrations, fitted on one table of healthy windows.

Scores are calibrated on windows that the detectors did not see: with as many features as windows, a model
flatters what it was fitted on beyond recognition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from catalog.signal import JUDGED_SUBSYSTEMS
from detector import attribution
from detector.burst import ordinary
from detector.calibration import MARGIN, Calibration, Rule, calibrate, worst
from detector.detectors.protocol import Detector, Layout
from detector.detectors.registry import registered
from detector.features import Feature, names_of
from detector.frame import Floats
from detector.fusion import Normaliser, Smoothing, fit_normaliser, fuse, smoothed
from detector.high import high
from detector.pruning import Groups, correlations, covered, group_by_correlation
from detector.scaling import Scaler, fit_scaler

FOLDS = 4
INDEPENDENT_R, DISTINCT_R = 0.9, 0.95
MOST_DISTINCT = 200
FUSED = "fused"
LASTING = "lasting"
LEAST_LASTING = 0.9  # quantile: half of the windows are beyond what one in ten usually is
LEAST_STRETCHES = 10  # as long as what lasts must: fewer tell nothing of how far a host strays
USUAL_LASTING = 0.9  # quantile: a burst among the windows learned from says nothing of what lasts


@dataclass(frozen=True, slots=True)
class Parts:
    """What is fitted on one table of windows: everything but the calibrations."""

    scaler: Scaler
    groups: Groups
    layout: Layout
    detectors: tuple[Detector, ...]

    def raw(self, z: Floats) -> Floats:
        """Scores [N, D] of all detectors."""
        return np.stack([detector.rate(z) for detector in self.detectors], axis=1)


@dataclass(frozen=True, slots=True)
class Model:
    """``calibrations`` by detector name, of the fused score and of what lasts; ``usual_evidence`` float64[G] of single
    windows and ``usual_lasting`` of many: see ``attribution``."""

    features: tuple[Feature, ...]
    names: tuple[str, ...]
    parts: Parts
    normaliser: Normaliser
    calibrations: dict[str, Calibration]
    usual_evidence: Floats
    usual_lasting: Floats
    rows: int

    @property
    def fused(self) -> Calibration:
        """The calibration of the fused score."""
        return self.calibrations[FUSED]

    @property
    def lasting(self) -> Calibration | None:
        """The calibration of the level of what lasts; None where the windows learned from were too few."""
        return self.calibrations.get(LASTING)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Windows by themselves: features ``x`` [N, F] in the model's columns, ``coverage`` [N] of these, deviations ``z``
    [N, F] and ``normalised`` scores [N, D]."""

    x: Floats
    coverage: Floats
    z: Floats
    normalised: Floats


@dataclass(frozen=True, slots=True)
class Rating:
    """Normalised scores on the scale of alarms: ``scores`` by detector and fused, each [N] with its bound at 1.

    ``fused`` [N] is the weighted mean that the fused score is calibrated from, with its tail probability ``p_value``.
    """

    fused: Floats
    scores: dict[str, Floats]
    p_value: Floats


def fit_parts(x: Floats, features: tuple[Feature, ...]) -> Parts:
    """Scaler, groups and detectors from windows ``x`` float64[N, F]."""
    return fit_scaled(fit_scaler(x, features), x, features, INDEPENDENT_R, DISTINCT_R)


def fit_scaled(
    scaler: Scaler, x: Floats, features: tuple[Feature, ...], independent_r: float, distinct_r: float
) -> Parts:
    """Groups and detectors from windows ``x`` float64[N, F] with a scaler; features are one above these |r|."""
    z = scaler.deviations(x)
    r, usable = correlations(z), covered(x)
    groups = group_by_correlation(r, usable, independent_r)
    distinct = group_by_correlation(r, usable, distinct_r).representatives[:MOST_DISTINCT]
    layout = layout_of(features, groups.representatives, distinct)
    detectors = tuple(detector.fit(z, layout) for detector in registered().values())
    return Parts(scaler, groups, layout, detectors)


def layout_of(
    features: tuple[Feature, ...], independent: npt.NDArray[np.intp], distinct: npt.NDArray[np.intp]
) -> Layout:
    """The layout of these features, of which some represent the others."""
    numbers = {name: number for number, name in enumerate(JUDGED_SUBSYSTEMS)}
    subsystem = np.array([numbers[feature.channel.subsystem] for feature in features], dtype=np.intp)
    return Layout(subsystem, JUDGED_SUBSYSTEMS, independent, distinct)


def fit_model(
    end_s: Floats,
    x: Floats,
    flagged: npt.NDArray[np.bool_],
    features: tuple[Feature, ...],
    window_s: float,
    past: Mapping[str, tuple[Rule, Floats]],
    per_day: float,
    smoothing: Smoothing,
) -> Model:
    """Fit on windows ``x`` float64[N, F] with ends float64[N]; ``past``: the rules ``FUSED`` and ``LASTING``, each with
    its maxima, ``per_day`` of which make a day, as in ``calibrate``.

    It is calibrated on scores after ``smoothing``, and not on those that are ``flagged`` bool[N]: the detectors know
    what came again and again, but a bound that lets all of it pass would let everything else pass too.
    """
    raw, evidence = _held_out(end_s, x, features, window_s)
    parts = fit_parts(x, features)
    kept = ~flagged
    kept[kept] = ordinary(raw[kept])
    normaliser = fit_normaliser(raw[kept], np.array([detector.least_range for detector in parts.detectors]))
    runs, runs_kept = unbroken(end_s), unbroken(end_s[kept])
    held_out, seen = (
        _with_fused(smoothed(normaliser(scores), runs, smoothing), parts)
        for scores in (raw, parts.raw(parts.scaler.deviations(x)))
    )
    held_out, seen, runs = held_out[kept], seen[~flagged], unbroken(end_s[~flagged])
    rule, maxima = past[FUSED]
    calibrations = {
        name: calibrate(
            held_out[:, column],
            runs_kept,
            maxima if name == FUSED else np.empty(0),
            per_day,
            rule,
            worst(seen[:, column], runs, rule),
        )
        for column, name in enumerate([*(detector.name for detector in parts.detectors), FUSED])
    }
    lasting = _calibrate_lasting(held_out[:, -1], runs_kept, seen[:, -1], runs, past, per_day)
    calibrations |= {} if lasting is None else {LASTING: lasting}
    usual = np.maximum(high(evidence[kept]), attribution.LEAST_EVIDENCE)
    usual_lasting = np.maximum(np.quantile(evidence[kept], USUAL_LASTING, axis=0), attribution.LEAST_EVIDENCE)
    names = names_of(features)
    return Model(features, names, parts, normaliser, calibrations, usual, usual_lasting, len(x))


def _calibrate_lasting(
    held_out: Floats,
    runs_kept: npt.NDArray[np.intp],
    seen: Floats,
    runs: npt.NDArray[np.intp],
    past: Mapping[str, tuple[Rule, Floats]],
    per_day: float,
) -> Calibration | None:
    """The calibration of the levels of what lasts; None without such a rule, or where too little was seen for it."""
    if LASTING not in past:
        return None
    (sudden, _), (rule, maxima) = past[FUSED], past[LASTING]
    levels, seen_levels = (_lasting_levels(*each, sudden, rule) for each in ((held_out, runs_kept), (seen, runs)))
    there = np.isfinite(levels)
    stretches = there.sum() / rule.of
    if stretches < LEAST_STRETCHES:
        return None
    alone = replace(rule, votes=1, of=1)  # a level holds the votes already
    worst_seen = float(seen_levels[np.isfinite(seen_levels)].max())
    least = float(np.quantile(held_out, LEAST_LASTING))
    # A day holds larger ones than these few stretches: by as much as maxima of normal values grow.
    margin = MARGIN * np.sqrt(np.log(per_day) / np.log(stretches))
    return calibrate(levels[there], runs_kept[there], maxima, per_day, alone, worst_seen, least, margin)


def _lasting_levels(fused: Floats, runs: npt.NDArray[np.intp], sudden: Rule, rule: Rule) -> Floats:
    """The level of what lasts at every window, float64[N], by what its unbroken stretch held until then."""
    levels = np.empty(len(fused))
    for run in np.unique(runs):
        own = runs == run
        levels[own] = np.minimum(rule.statistic(fused[own]), sudden.statistic(fused[own]))
    return levels


def _held_out(end_s: Floats, x: Floats, features: tuple[Feature, ...], window_s: float) -> tuple[Floats, Floats]:
    """Scores [N, D] and evidence [N, G] of every window by a model fitted without its part of time."""
    raw, evidence = [], []
    for fold, rest in folds(end_s, window_s):
        parts = fit_parts(x[rest], features)
        z = parts.scaler.deviations(x[fold])
        raw.append(parts.raw(z))
        evidence.append(evidence_of(z, features))
    return np.concatenate(raw), np.concatenate(evidence)


def folds(end_s: Floats, window_s: float) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]]:
    """Stretches of windows that are held out, intp[n], each with what is learned from meanwhile, bool[N]."""
    for fold in np.array_split(np.arange(len(end_s)), FOLDS):
        # Windows that overlap the held-out stretch share samples with it.
        yield fold, ~((end_s > end_s[fold[0]] - window_s) & (end_s < end_s[fold[-1]] + window_s))


def evidence_of(z: Floats, features: tuple[Feature, ...]) -> Floats:
    """Evidence of each subsystem [N, G] from deviations [N, F]; a missing one is none."""
    return attribution.by_subsystem(attribution.weighted(np.abs(np.nan_to_num(z)), features), features)


def unbroken(end_s: Floats) -> npt.NDArray[np.intp]:
    """Numbers, intp[N], of the stretches of windows without a gap between them."""
    steps = np.diff(end_s)
    usual = float(np.median(steps)) if len(steps) else 0.0
    return np.concatenate([[0], np.cumsum(steps > 1.5 * usual)]).astype(np.intp)


def _with_fused(normalised: Floats, parts: Parts) -> Floats:
    """Normalised scores [N, D] and, as one more column, their fused score."""
    return np.column_stack([normalised, fuse(normalised, weights(parts))])


def weights(parts: Parts) -> Floats:
    """The detectors' weights in the fused score, float64[D]."""
    return np.array([detector.weight for detector in parts.detectors])


def covered_by(model: Model, x: Floats) -> Floats:
    """Share float64[N] of the features that a model judges by which have data in windows ``x`` float64[N, F]."""
    used = model.parts.layout.distinct
    return (~np.isnan(x[:, used])).mean(axis=1) if len(used) else np.zeros(len(x))


def judge(model: Model, x: Floats) -> Judgement:
    """Judge windows ``x`` float64[N, F] whose columns are the model's; a window with no data has NaN scores."""
    z, coverage = model.parts.scaler.deviations(x), covered_by(model, x)
    normalised = model.normaliser(model.parts.raw(z))
    normalised[coverage == 0.0] = np.nan
    return Judgement(x, coverage, z, normalised)


def rate(model: Model, normalised: Floats) -> Rating:
    """Normalised scores float64[N, D], smoothed as those that the model was calibrated on; NaN stays NaN."""
    scores = {
        detector.name: model.calibrations[detector.name].score(normalised[:, column])
        for column, detector in enumerate(model.parts.detectors)
    }
    fused = fuse(normalised, weights(model.parts))
    scores[FUSED] = model.fused.score(fused)
    return Rating(fused, scores, model.fused.p_value(fused))
