"""How many metrics there are, how many say something of their own, and how many there are on every architecture."""

from __future__ import annotations

import numpy as np

from bench.paper.bench import Bench
from bench.paper.hosts import Shown, common_share, here, lines_of_code
from bench.paper.recorded import DEFAULT
from bench.paper.row import Row, percent
from detector.features import Features
from detector.pruning import correlations, covered, group_by_correlation
from detector.scaling import fit_scaler

_KEPT_ABOVE = 0.5
_STATISTIC = "mean"


def counted(bench: Bench) -> list[Row]:
    """Unique metrics and channels of this host and of the written ones, profile ``full``."""
    hosts = {"this host": here(bench.new("here"))} | {
        f"written host {name}": one for name, one in bench.written.items()
    }
    return [row for host, shown in hosts.items() for row in _counts(host, shown)]


def _counts(host: str, shown: Shown) -> list[Row]:
    key, gpus = host.replace(" ", "_"), "without GPUs" if "written" in host else ""
    return [
        Row(f"metrics_{key}", f"unique metrics, {host}", "about 150", len(shown.values), note=gpus),
        Row(f"channels_{key}", f"channels, {host}", "over 700", sum(shown.values.values()), note=gpus),
    ]


def kept(bench: Bench) -> list[Row]:
    """Share of the signals, and of all features, that are left when those with |r| > 0.5 have one representative."""
    past = bench.past
    windows = past.windows(past.judge(DEFAULT))
    means = np.array([feature.statistic == _STATISTIC for feature in windows.features])
    signals = Features(
        windows.end_s, windows.x[:, means], tuple(np.array(windows.features, dtype=object)[means].tolist())
    )
    rows = []
    for name, part, paper in (("signals", signals, "about 60 %"), ("features", windows, "")):
        left, varying = kept_of(part)
        what = f"{name} kept at \\|r\\| = 0.5"
        rows.append(
            Row(f"kept_percent_{name}", what, paper, percent(left / varying), "%", f"{left} of {varying} that vary")
        )
    return rows


def kept_of(windows: Features) -> tuple[int, int]:
    """How many features are representatives, and how many vary at all."""
    z = fit_scaler(windows.x, windows.features).deviations(windows.x)
    varies = covered(z) & (np.nanmax(np.nan_to_num(z), axis=0) > np.nanmin(np.nan_to_num(z), axis=0))
    groups = group_by_correlation(correlations(z), varies, _KEPT_ABOVE)
    return len(groups.representatives), int(varies.sum())


def portable(bench: Bench) -> list[Row]:
    """Share of families and of lines of the exporter that Intel, AMD and Arm have in common, GPUs and perf left out."""
    common, anywhere = common_share(shown.values for shown in bench.written.values())
    shared, run = lines_of_code(shown.collectors for shown in bench.written.values())
    return [
        Row("portable_families_percent", "metrics common to Intel, AMD and Arm", "91 %",
            percent(common / anywhere), "%", f"{common} of {anywhere} families, GPUs and perf left out"),
        Row("portable_code_percent", "code common to Intel, AMD and Arm", "", percent(shared / run), "%",
            f"{shared} of {run} lines of the exporter"),
    ]  # fmt: skip
