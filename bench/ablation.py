"""What each part of the method is worth: how well labelled telemetry is ranked with one thing left out at a time.

    python -m bench.ablation --data ../shared/data --json

A variant is made of the parts that are shipped, through what they let one choose, and fitted on the train split.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bench.arguments import some_of
from bench.detection import hpas
from bench.detection.paired import paired_roc
from bench.detection.points import rank
from bench.detection.replay import features_of, learned, shipped_judge
from bench.detection.report import mean, plain
from bench.detection.sets import NAMES, RUNS, SETS, DataError, Declared, Figures, files, load
from detector.burst import ordinary
from detector.detectors.deviation import Deviation
from detector.detectors.forest import Forest
from detector.detectors.subspace import Subspace
from detector.features import STATISTICS, Feature, Features
from detector.frame import Floats
from detector.fusion import Smoothing, fit_normaliser, fuse
from detector.judge import Judge
from detector.model import DISTINCT_R, INDEPENDENT_R, Parts, fit_scaled, folds, weights
from detector.scaling import LEAST_SPREAD, MAD_TO_SIGMA, Scaler, fit_scaler
from tests.recorded import DATA

MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Variant:
    """What is other than shipped: ``statistics`` of a window, ``smoothing`` of scores, ``weights`` of detectors, what
    T2 and SPE count beside each other, |r| above which features are one, and whether bursts count in the spread."""

    statistics: tuple[str, ...] = STATISTICS
    smoothing: bool = True
    weights: Mapping[str, float] = field(default_factory=dict)
    counts: tuple[float, float] = (1.0, 1.0)
    independent_r: float = INDEPENDENT_R
    distinct_r: float = DISTINCT_R
    burst_spread: bool = True


Variants = Mapping[str, Variant]
VARIANTS: Variants = {
    "shipped": Variant(),
    "mean alone": Variant(statistics=(MEAN,)),
    "mean and change": Variant(statistics=(MEAN, "change")),
    "no smoothing": Variant(smoothing=False),
    "no deviation": Variant(weights={Deviation.name: 0.0}),
    "no subspace": Variant(weights={Subspace.name: 0.0}),
    "no forest": Variant(weights={Forest.name: 0.0}),
    "equal weights": Variant(weights=dict.fromkeys((Deviation.name, Subspace.name, Forest.name), 1.0)),
    "no T2": Variant(counts=(0.0, 1.0)),
    "no SPE": Variant(counts=(1.0, 0.0)),
    "deviation: none pruned": Variant(independent_r=1.0),
    "deviation: |r| 0.5": Variant(independent_r=0.5),
    "subspace: |r| 0.5": Variant(distinct_r=0.5),
    "spread by MAD alone": Variant(burst_spread=False),
}


def fit_parts(variant: Variant, x: Floats, features: tuple[Feature, ...]) -> Parts:
    """As ``detector.model.fit_parts``, with what the variant has otherwise."""
    scaler = fit_scaler(x, features)
    if not variant.burst_spread:
        scaler = replace(scaler, spread=_mad_alone(scaler, x, features))
    parts = fit_scaled(scaler, x, features, variant.independent_r, variant.distinct_r)
    with np.errstate(divide="ignore"):
        counted = [
            replace(each, reference=each.reference / np.array(variant.counts)) if isinstance(each, Subspace) else each
            for each in parts.detectors
        ]
    return replace(parts, detectors=tuple(counted))


def _mad_alone(scaler: Scaler, x: Floats, features: tuple[Feature, ...]) -> Floats:
    far = np.abs(np.where(np.isnan(x).all(axis=0), 0.0, x) - scaler.median)
    least = np.array([LEAST_SPREAD[feature.channel.scale] for feature in features])
    spread: Floats = np.maximum(MAD_TO_SIGMA * np.nanmedian(far, axis=0), least)
    return spread


@dataclass(frozen=True, slots=True)
class Taught:
    """What a train split taught: window ends [N], their features [N, F], and how a host is judged."""

    end_s: Floats
    x: Floats
    features: tuple[Feature, ...]
    judge_by: Judge


def taught(train: Features, judge_by: Judge) -> Taught:
    """What the training memory of a host holds after these windows."""
    end_s, x, _ = learned(train, judge_by).training.table()
    return Taught(end_s, x, train.features, judge_by)


def fused(variant: Variant, by: Taught, tests: Sequence[Features]) -> list[Floats]:
    """Fused scores [N] of the windows of each of the tests."""
    kept = [column for column, feature in enumerate(by.features) if feature.statistic in variant.statistics]
    x, features = by.x[:, kept], tuple(by.features[column] for column in kept)
    held_out = []
    for fold, rest in folds(by.end_s, by.judge_by.window_s):
        parts = fit_parts(variant, x[rest], features)
        held_out.append(parts.raw(parts.scaler.deviations(x[fold])))
    raw = np.concatenate(held_out)
    parts = fit_parts(variant, x, features)
    least = np.array([detector.least_range for detector in parts.detectors])
    normaliser = fit_normaliser(raw[ordinary(raw)], least)
    usual = zip(parts.detectors, weights(parts), strict=True)
    weighed = np.array([variant.weights.get(detector.name, weight) for detector, weight in usual])
    smoothing = by.judge_by.smoothing if variant.smoothing else Smoothing()
    scores = (normaliser(parts.raw(parts.scaler.deviations(test.x[:, kept]))) for test in tests)
    return [fuse(smoothing.over(each), weighed) for each in scores]


def precisions(path: Path, declared: Declared, variants: Variants) -> Figures:
    """Average precision of each variant on one machine."""
    machine = load(path, declared)
    judge_by = shipped_judge(machine.interval_s)
    train = features_of(machine.train, machine.channels, machine.interval_s, judge_by)
    test = features_of(machine.test, machine.channels, (len(machine.train) + 1) * machine.interval_s, judge_by)
    by = taught(train, judge_by)
    return {name: rank(machine.label, fused(variant, by, [test])[0]).ap for name, variant in variants.items()}


def paired(folder: Path, variants: Variants) -> Figures:
    """Ranking by each variant across runs at the same elapsed time."""
    plan, judge_by = hpas.plan(folder), shipped_judge(hpas.INTERVAL_S)
    runs: list[hpas.Run] = []
    scores: dict[str, list[Floats]] = {name: [] for name in variants}
    for app, names in plan.faulty.items():
        by = taught(hpas.clean_windows(plan, app, judge_by), judge_by)
        here = [hpas.windows_of(plan, app, name, float(by.end_s[-1]) + hpas.GAP_S, judge_by) for name in names]
        runs += here
        for name, variant in variants.items():
            scores[name] += fused(variant, by, [run.windows for run in here])
    number = np.concatenate([np.full(len(run.bits), number) for number, run in enumerate(runs)])
    elapsed_s = np.concatenate([run.elapsed_s for run in runs])
    label = np.concatenate([run.bits != 0 for run in runs])
    return {name: paired_roc(number, elapsed_s, label, np.concatenate(each)) for name, each in scores.items()}


def figures(data: Path, sets: Sequence[str], variants: Variants) -> dict[str, Figures]:
    """For each variant a figure of each set, the mean average precision of its machines or the paired ROC of its runs,
    and the mean of these. Raises DataError."""
    for name in sets:
        if not files(data / name):
            raise DataError(f"--data: {data / name} holds no .npz file")
    by_set = {}
    for name in sets:
        folder = data / name
        if name == RUNS:
            by_set[name] = paired(folder, variants)
        else:
            by_set[name] = mean([precisions(path, SETS[name], variants) for path in files(folder)])
    rows = {variant: {name: by_set[name][variant] for name in sets} for variant in variants}
    return {variant: row | {MEAN: float(np.mean(list(row.values())))} for variant, row in rows.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a row for each variant and, where asked to, one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.ablation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with a folder for each set")
    parser.add_argument("--sets", type=some_of(NAMES), default=list(NAMES), help=f"some of {','.join(NAMES)}")
    parser.add_argument(
        "--variants", type=some_of(VARIANTS), default=list(VARIANTS), help=f"rows, some of {','.join(VARIANTS)}"
    )
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    given = parser.parse_args(argv)
    try:
        with threadpool_limits(1):
            rows = figures(given.data, given.sets, {name: VARIANTS[name] for name in given.variants})
    except DataError as error:
        print(f"python -m bench.ablation: {error}", file=sys.stderr)
        return 2
    print(f"{'':<24}" + "".join(f"{name:>13}" for name in (*given.sets, MEAN)))
    for name, row in rows.items():
        print(f"{name:<24}" + "".join(f"{value:>13.3f}" for value in row.values()))
    if given.json:
        print(json.dumps(plain(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
