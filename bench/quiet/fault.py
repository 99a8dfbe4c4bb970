"""What is put into simulated hosts to be found: shifts by some deviations of noise, and distinct faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.quiet.host import Signals
from bench.quiet.series import Line
from catalog.family import Subsystem
from detector.frame import Floats
from tests.detector.synthetic import FAULTY, fault_of

SHIFTS = (0.0, 2.0, 4.0, 8.0)  # by none: what is found of that is found by chance
SHIFTED = 6
DISTINCT = "distinct"
_SHIFTABLE = tuple(subsystem for subsystem in Subsystem if str(subsystem) in FAULTY)


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault in a subsystem: a shift by so many deviations of six of its series, or, with None, a distinct one."""

    subsystem: str
    shift: float | None

    @property
    def kind(self) -> str:
        """What it is called in tables."""
        return DISTINCT if self.shift is None else f"shift_{self.shift:g}"

    def added(self, lines: Sequence[Line], signals: Signals, chance: np.random.Generator) -> Floats:
        """What it adds to rates and levels of ``signals`` from their first row on, float64[T, S]."""
        result = np.zeros_like(signals.values)
        if self.shift is None:
            places = {line.series: column for column, line in enumerate(lines)}
            for fault in fault_of(self.subsystem, -np.inf, np.inf):
                if fault.series in places:
                    result[:, places[fault.series]] = fault.amount(signals.elapsed_s)
            return result
        own = [n for n, line in enumerate(lines) if line.family.subsystem == self.subsystem]
        noise = np.median(signals.noise, axis=0)
        moving = [column for column in own if noise[column] > 0]
        chosen = chance.choice(moving, min(SHIFTED, len(moving)), replace=False)
        result[:, chosen] = self.shift * noise[chosen]
        return result


PLANTED = tuple(Planted(str(name), shift) for name in _SHIFTABLE for shift in (*SHIFTS, None))
"""All that is put in, one after the other."""
