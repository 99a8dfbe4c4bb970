"""A frame: the raw samples of one host over a span of time, as every source hands them over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from catalog.series import Series

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Frame:
    """Samples of one host.

    ``times_s`` float64[T], strictly increasing, seconds since the epoch (UTC); ``values`` float64[T, S], NaN where a
    series has no sample of its own at that time (a slower tier, a gap): a value repeated by the transport must have
    been masked by the source. Counters stay raw. ``columns`` S series under hostpulse's own names.
    """

    instance: str
    times_s: Floats
    values: Floats
    columns: tuple[Series, ...]

    def __post_init__(self) -> None:
        assert self.instance, "a frame belongs to an instance"
        assert self.times_s.ndim == 1, f"times have one axis, not {self.times_s.ndim}"
        assert self.values.shape == (len(self.times_s), len(self.columns)), (
            f"values {self.values.shape} do not fit {len(self.times_s)} times and {len(self.columns)} columns"
        )
        assert np.all(np.diff(self.times_s) > 0), "times must increase"
        assert not np.isinf(self.values).any(), "a sample is finite or NaN"
