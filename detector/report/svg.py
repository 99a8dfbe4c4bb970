"""A chart as SVG: https://www.w3.org/TR/SVG2/. Only lines; all text stands beside it as HTML, so that it never shrinks.

The drawing is stretched to the width that there is, its lines keep their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from detector.report.document import Chart, Points

WIDTH, HEIGHT = 1000.0, 100.0
_MARGIN = 0.06
_GAP = 4.0  # usual steps; a longer one breaks the line


def drawing(chart: Chart) -> str:
    """The chart without any text; it needs a point at least."""
    span, bounds = time_bounds(chart), value_bounds(chart)
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" aria-hidden="true">']
    if chart.span_s is not None:
        start, end = (min(max(_x(time_s, span), 0.0), WIDTH) for time_s in chart.span_s)
        parts.append(
            f'<rect class="span" x="{start:.1f}" y="0" width="{max(end - start, 2.0):.1f}" height="{HEIGHT:g}"/>'
        )
    if chart.level is not None:
        y = _y(chart.level[1], bounds)
        parts.append(f'<line class="level" x1="0" y1="{y:.1f}" x2="{WIDTH:g}" y2="{y:.1f}"/>')
    for run in _runs(chart.points):
        path = " ".join(f"{_x(time_s, span):.1f},{_y(value, bounds):.1f}" for time_s, value in run)
        parts.append(f'<polyline class="line" points="{path}"/>')
    return "".join([*parts, "</svg>"])


def time_bounds(chart: Chart) -> tuple[float, float]:
    """The first and the last time that are shown."""
    first_s, last_s = chart.points[0][0], chart.points[-1][0]
    return (first_s, last_s) if last_s > first_s else (first_s - 0.5, first_s + 0.5)


def value_bounds(chart: Chart) -> tuple[float, float]:
    """The lowest and the highest value that fit: 0 is among them where that is not far."""
    values = [value for _, value in chart.points] + ([chart.level[1]] if chart.level else [])
    lowest, highest = min(values), max(values)
    if 0 < lowest < 0.5 * highest:
        lowest = 0.0
    if highest <= lowest:
        lowest, highest = lowest - max(abs(lowest), 1.0) / 2, highest + max(abs(highest), 1.0) / 2
    return lowest, highest


def _x(time_s: float, span: tuple[float, float]) -> float:
    return WIDTH * (time_s - span[0]) / (span[1] - span[0])


def _y(value: float, bounds: tuple[float, float]) -> float:
    part = (value - bounds[0]) / (bounds[1] - bounds[0])
    return HEIGHT * (1 - _MARGIN - (1 - 2 * _MARGIN) * part)


def _runs(points: Points) -> Iterator[Points]:
    """The points without gaps."""
    steps = np.diff([time_s for time_s, _ in points])
    usual = float(np.median(steps)) if len(steps) else 0.0
    breaks = [0, *(int(at) + 1 for at in np.flatnonzero(steps > _GAP * usual)), len(points)]
    for start, end in pairwise(breaks):
        # A point by itself would not be seen.
        yield points[start:end] if end - start > 1 else (points[start], points[start])
