"""One window as incidents remember it: the level of each channel and how far it is from what is usual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.channels import Channel
from detector.features import Feature, from_scale
from detector.verdict import Verdict

LEVEL = "mean"  # the one statistic that every window has
Small = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Window:
    """``z`` deviations and ``x`` values on the deviation scale, float32[C] each, of the levels of C channels."""

    end_s: float
    score: float
    z: Small
    x: Small


class Levels:
    """Picks the levels out of verdicts; what the columns are stays as long as the model does."""

    def __init__(self) -> None:
        self._seen: tuple[Feature, ...] = ()
        self._columns: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.features: tuple[Feature, ...] = ()
        self.median: Small = np.empty(0, dtype=np.float32)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What the columns of windows are."""
        return tuple(feature.channel for feature in self.features)

    def take(self, verdict: Verdict) -> tuple[Window | None, bool]:
        """The window of a verdict, None where it has none, and whether the columns are new ones."""
        deviations = verdict.deviations
        if deviations is None:
            return None, False
        renewed = deviations.features is not self._seen and deviations.features != self._seen
        if renewed:
            self._columns = np.array(
                [column for column, feature in enumerate(deviations.features) if feature.statistic == LEVEL],
                dtype=np.intp,
            )
            self.features = tuple(deviations.features[column] for column in self._columns)
        self._seen = deviations.features
        self.median = deviations.median[self._columns].astype(np.float32)
        z, x = (values[self._columns].astype(np.float32) for values in (deviations.z, deviations.x))
        return Window(verdict.end_s, verdict.score, z, x), renewed

    def values(self, x: Small) -> npt.NDArray[np.float64]:
        """Levels [..., C] on the deviation scale in the channels' units."""
        return from_scale(x.astype(np.float64), self.features)
