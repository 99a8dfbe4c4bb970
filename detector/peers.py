"""Peers: how far a host is from what the others of its workload group show, after gain correction.

Phases of a job that all its hosts share cancel: what is left of a host's own is noise, and what ails it. A host's
feature is compared as x - b * m, m the median of the others, with b fitted on the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from detector import attribution
from detector.calibration import Calibration, Rule, calibrate, worst
from detector.detectors.protocol import Layout
from detector.features import Feature
from detector.frame import Floats
from detector.fusion import Normaliser, Smoothing, fit_normaliser, smoothed
from detector.high import high
from detector.model import INDEPENDENT_R, evidence_of, folds, layout_of, unbroken
from detector.peer_distance import LEAST_RANGE, PeerDistance
from detector.pruning import correlations, covered, group_by_correlation
from detector.scaling import Scaler, fit_scaler
from detector.training import Float32s

PEERS = "peers"
LEAST_GAIN, MOST_GAIN = 0.25, 4.0
LEAST_FLOORS = 0.25  # what is too small to matter in a host by itself matters where the others do not have it
NEVER = float("nan")


@dataclass(frozen=True, slots=True)
class PeerModel:
    """``gain`` float64[F] of the host over the median of the others, and how its deviations from there are judged."""

    gain: Floats
    scaler: Scaler
    detector: PeerDistance
    normaliser: Normaliser
    calibration: Calibration
    usual_evidence: Floats
    rows: int

    def deviations(self, x: Floats, middle: Floats) -> Floats:
        """Signed deviations [N, F] of ``x`` [N, F] from the others' ``middle`` [N, F]; NaN where either is missing."""
        return self.scaler.deviations(x - self.gain * middle)

    def normalised(self, z: Floats) -> Floats:
        """Scores float64[N] of deviations [N, F], not calibrated; NaN for a window without peers."""
        scores = self.normaliser(self.detector.rate(z)[:, None])[:, 0]
        return np.where(np.isnan(z).all(axis=1), np.nan, scores)

    def typical(self, middle: Floats) -> Floats:
        """What is expected of the host [N, F] when the others are at ``middle`` [N, F]."""
        return self.scaler.median + self.gain * middle


@dataclass(frozen=True, slots=True)
class PeerState:
    """What is remembered of a host among its ``group``, as ``HostState`` remembers it of the host by itself.

    ``leads`` tells that the open episode was opened by the peers.
    """

    group: str = ""
    model: PeerModel | None = None
    normalised: tuple[tuple[float, float], ...] = ()
    sizes: tuple[tuple[float, Float32s], ...] = ()
    leads: bool = False
    maxima: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    period: tuple[float, float] = (NEVER, -np.inf)
    worst: float = -np.inf


def fit_gain(x: Floats, middle: Floats) -> Floats:
    """Gain float64[F] of ``x`` over ``middle`` [N, F], as far as the two move together: else 1, which a group's hosts
    are meant to have, as noise in the middle would make any slope too small."""
    known = ~np.isnan(x + middle)
    count = np.maximum(known.sum(axis=0), 1)
    x, middle = np.where(known, x, 0.0), np.where(known, middle, 0.0)
    x, middle = (np.where(known, part - part.sum(axis=0) / count, 0.0) for part in (x, middle))
    together, size = (x * middle).sum(axis=0), (middle**2).sum(axis=0)
    both = size * (x**2).sum(axis=0)
    slope = np.divide(together, size, out=np.ones_like(size), where=size > 1e-12)
    explained = np.divide(together**2, both, out=np.zeros_like(both), where=both > 1e-12)
    gain: Floats = np.clip(1.0 + explained * (slope - 1.0), LEAST_GAIN, MOST_GAIN)
    return gain


def fit_peers(
    end_s: Floats,
    x: Floats,
    middle: Floats,
    features: tuple[Feature, ...],
    window_s: float,
    maxima: Floats,
    per_day: float,
    rule: Rule,
    smoothing: Smoothing,
) -> PeerModel:
    """Fit on windows ``x`` and the others' ``middle`` float64[N, F]; else as ``model.fit_model``."""
    raw, evidence = _held_out(end_s, x, middle, features, window_s)
    gain, scaler, detector = _fit_parts(x, middle, features)
    z = scaler.deviations(x - gain * middle)
    normaliser = fit_normaliser(raw[:, None], np.array([LEAST_RANGE]))
    runs = unbroken(end_s)
    held_out, seen = (smoothed(normaliser(part[:, None]), runs, smoothing)[:, 0] for part in (raw, detector.rate(z)))
    calibration = calibrate(held_out, runs, maxima, per_day, rule, worst(seen, runs, rule))
    usual = np.maximum(high(evidence), attribution.LEAST_EVIDENCE)
    return PeerModel(gain, scaler, detector, normaliser, calibration, usual, len(x))


def _fit_parts(x: Floats, middle: Floats, features: tuple[Feature, ...]) -> tuple[Floats, Scaler, PeerDistance]:
    gain = fit_gain(x, middle)
    apart = x - gain * middle
    scaler = fit_scaler(apart, features, LEAST_FLOORS)
    z = scaler.deviations(apart)
    groups = group_by_correlation(correlations(z), covered(apart), INDEPENDENT_R)
    layout: Layout = layout_of(features, groups.representatives, groups.representatives)
    return gain, scaler, PeerDistance.fit(z, layout)


def _held_out(
    end_s: Floats, x: Floats, middle: Floats, features: tuple[Feature, ...], window_s: float
) -> tuple[Floats, Floats]:
    """Raw scores [N] and evidence [N, G] of every window by gains and spreads fitted without its part of time."""
    raw, evidence = [], []
    for fold, rest in folds(end_s, window_s):
        gain, scaler, detector = _fit_parts(x[rest], middle[rest], features)
        z = scaler.deviations(x[fold] - gain * middle[fold])
        raw.append(detector.rate(z))
        evidence.append(evidence_of(z, features))
    return np.concatenate(raw), np.concatenate(evidence)


def to_arrays(state: PeerState) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """A header that fits JSON and plain arrays; what only the next seconds need is left out."""
    arrays: dict[str, npt.NDArray[Any]] = {"peers/maxima": state.maxima}
    header: dict[str, Any] = {"group": state.group, "leads": state.leads, "worst": state.worst, "model": None}
    if (model := state.model) is not None:
        arrays |= {
            "peers/gain": model.gain,
            "peers/median": model.scaler.median,
            "peers/spread": model.scaler.spread,
            "peers/sign": model.scaler.sign,
            "peers/independent": model.detector.layout.independent,
            "peers/usual": model.detector.usual,
            "peers/usual_top": model.detector.usual_top,
            "peers/normaliser": np.array([model.normaliser.median[0], model.normaliser.range[0]]),
            "peers/sample": model.calibration.sample,
            "peers/usual_evidence": model.usual_evidence,
        }
        header["model"] = {"rows": model.rows, "calibration": model.calibration.to_header()}
    return header, arrays


def from_arrays(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], features: tuple[Feature, ...]
) -> PeerState:
    """The inverse of ``to_arrays``; raises ValueError or KeyError where the arrays do not fit ``features``."""
    state = PeerState(header["group"], leads=header["leads"], maxima=arrays["peers/maxima"], worst=header["worst"])
    if header["model"] is None:
        return state
    independent = arrays["peers/independent"].astype(np.intp)
    scaler = Scaler(arrays["peers/median"], arrays["peers/spread"], arrays["peers/sign"])
    gain = arrays["peers/gain"]
    sizes = {len(each) for each in (gain, scaler.median, scaler.spread, scaler.sign)}
    if sizes != {len(features)} or independent.max(initial=-1) >= len(features):
        raise ValueError("the arrays of its peers do not fit its features")
    median, width = arrays["peers/normaliser"]
    model = PeerModel(
        gain,
        scaler,
        PeerDistance(layout_of(features, independent, independent), arrays["peers/usual"], arrays["peers/usual_top"]),
        Normaliser(np.array([median]), np.array([width])),
        Calibration.from_header(header["model"]["calibration"], arrays["peers/sample"]),
        arrays["peers/usual_evidence"],
        header["model"]["rows"],
    )
    return replace(state, model=model)
