"""Deviations of a healthy host, as detectors see them, with or without something wrong."""

from __future__ import annotations

import numpy as np

from catalog.signal import JUDGED_SUBSYSTEMS
from detector.detectors.protocol import Layout
from detector.frame import Floats
from detector.pruning import correlations, covered, group_by_correlation

GROUPS = len(JUDGED_SUBSYSTEMS)


def deviations(rows: int, features: int, seed: int = 0) -> Floats:
    """float64[N, F]: a load that moves all, one factor for each subsystem, and noise of its own for each feature."""
    generator = np.random.default_rng(seed)
    load = generator.standard_normal((rows, 1))
    own = generator.standard_normal((rows, GROUPS))[:, np.arange(features) % GROUPS]
    z: Floats = 0.5 * load + 0.5 * own + 0.7 * generator.standard_normal((rows, features))
    return z


def layout_of(z: Floats) -> Layout:
    """Features of z [N, F] belong to the subsystems in turn."""
    r, usable = correlations(z), covered(z)
    subsystem = (np.arange(z.shape[1]) % GROUPS).astype(np.intp)
    independent, distinct = (group_by_correlation(r, usable, above).representatives for above in (0.5, 0.95))
    return Layout(subsystem, JUDGED_SUBSYSTEMS, independent, distinct)


def members(layout: Layout, group: int, count: int) -> list[int]:
    """Columns of the first features of a subsystem."""
    return [int(column) for column in np.flatnonzero(layout.subsystem == group)[:count]]
