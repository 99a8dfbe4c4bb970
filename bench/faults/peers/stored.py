"""What the peers said, read from Prometheus after a run: alerts of rules, and metrics for k-means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.faults.matching import Track, intervals
from bench.faults.peers import kmeans
from catalog import FAMILIES
from catalog.family import Kind
from tests.servers import Prometheus

RULES = ("static_rules", "promql_bands")
APART_S = 15.0  # also how long before the run is looked at: what fires then is no alarm of the run
_HOLE_S = 3.0


def by_rules(prometheus: Prometheus, peer: str, start_s: float, end_s: float) -> Track:
    """The times at which any alert of a peer fired, on a clock that begins at ``start_s``; what fired then has begun
    before 0."""
    firing = prometheus.query(
        f'ALERTS{{peer="{peer}",alertstate="firing"}}[{end_s - start_s + APART_S:.0f}s]', time=f"{end_s:.3f}"
    )
    times_s = sorted({float(at_s) for series in firing for at_s, _ in series["values"]})
    return Track(intervals([at_s - start_s for at_s in times_s], [True] * len(times_s), APART_S))


def by_kmeans(prometheus: Prometheus, job: str, start_s: float, baseline_s: float, end_s: float) -> Track:
    """The same of k-means on all metrics of the exporter, trained on the baseline that ends at ``start_s``."""
    begin_s = start_s - baseline_s
    found = prometheus.query(f'{{job="{job}"}}[{end_s - begin_s:.0f}s]', time=f"{end_s:.3f}")
    grid_s = np.arange(begin_s, end_s)
    columns = [
        column for series in found if (column := _on_grid(series["metric"], series["values"], grid_s)) is not None
    ]
    assert columns, f"Prometheus has no metrics of the job {job}"
    active = kmeans.alarmed(np.stack(columns, axis=1), round(baseline_s))
    told = grid_s >= start_s - APART_S
    return Track(intervals(list(grid_s[told] - start_s), list(active[told]), APART_S))


def _on_grid(
    metric: Mapping[str, str], samples: list[tuple[float, str]], grid_s: kmeans.Floats
) -> kmeans.Floats | None:
    """A gauge, or the rate of a counter, each second; NaN in holes. None for what is no metric of the host."""
    family = FAMILIES.get(metric["__name__"])
    if family is None or family.kind is Kind.INFO or family.subsystem == "exporter":
        return None
    times_s = np.array([at_s for at_s, _ in samples])
    values = np.array([float(value) for _, value in samples])
    if len(values) < 2:
        return None
    if family.kind is Kind.COUNTER:
        grown = np.diff(values) / np.diff(times_s)
        values, times_s = np.where(grown >= 0, grown, np.nan), times_s[1:]
    newest = times_s.searchsorted(grid_s, side="right") - 1
    held = np.where(newest >= 0, values[newest], np.nan)
    return np.asarray(np.where(grid_s - times_s[newest] <= _HOLE_S, held, np.nan), dtype=np.float64)
