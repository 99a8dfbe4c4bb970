"""How far a host stands from its peers: by many small deviations of one subsystem, or by a few large ones.

Next to its peers a healthy host's deviations are noise. Their clipped mean square then hardly varies, whatever the
tails of single ones: a shift that no feature shows by itself shows in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detector.detectors.deviation import top_means
from detector.detectors.protocol import Layout
from detector.frame import Floats
from detector.high import high

CLIP = 3.0
FEW_COUNT_FROM = 2.0  # times their usual size: noise with heavy tails gets as far, and is not to set the bound
_LEAST_USUAL = 0.25
LEAST_RANGE = 0.1  # of the usual score, above it


@dataclass(frozen=True, slots=True)
class PeerDistance:
    """``usual`` and ``usual_top`` float64[G]: the high ends of each subsystem's clipped root mean square and of the
    mean of its largest |z|."""

    layout: Layout
    usual: Floats
    usual_top: Floats

    @classmethod
    def fit(cls, z: Floats, layout: Layout) -> PeerDistance:
        """From the deviations [N, F] of a healthy host."""
        size = np.abs(np.nan_to_num(z))
        top, _ = top_means(size, layout)
        usual, usual_top = (np.maximum(high(part), _LEAST_USUAL) for part in (_clipped(size, layout), top))
        return cls(layout, usual, usual_top)

    def rate(self, z: Floats) -> Floats:
        """Scores float64[N] of deviations [N, F], NaN = missing: it counts as typical. About 1 is the high end."""
        size = np.abs(np.nan_to_num(z))
        top, _ = top_means(size, self.layout)
        many, few = _clipped(size, self.layout) / self.usual, top / self.usual_top / FEW_COUNT_FROM
        worst: Floats = np.maximum(many, few).max(axis=1)
        return worst


def _clipped(size: Floats, layout: Layout) -> Floats:
    """Root mean square [N, G] of the sizes [N, F] of each subsystem's independent features, none over ``CLIP``."""
    result = np.zeros((len(size), len(layout.subsystems)))
    for group in range(len(layout.subsystems)):
        columns = layout.independent[layout.subsystem[layout.independent] == group]
        if len(columns):
            result[:, group] = np.sqrt((np.minimum(size[:, columns], CLIP) ** 2).mean(axis=1))
    return result
