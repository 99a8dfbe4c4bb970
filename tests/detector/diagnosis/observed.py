"""What is observed of a host: made of a signature's own evidence, or of nothing but noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from catalog import SIGNALS
from catalog.signal import Role
from detector.channels import channel_of
from detector.diagnosis.diagnose import Moved
from detector.diagnosis.probes import PROBES
from detector.diagnosis.signature import Clue, Signature

SIGNALS_AND_PROBES = {**SIGNALS, **PROBES}
CLEAR = {Role.ERROR: 4.0, Role.STATE: 5.0, Role.SATURATION: 6.0, Role.UTILISATION: 8.0}


def moved(name: str, deviation: float, labels: Iterable[tuple[str, str]] = ()) -> Moved:
    """A channel that deviates by so much."""
    return Moved(channel_of(SIGNALS_AND_PROBES[name], tuple(labels)), deviation, 1.0, 1.0 + deviation)


def noise(seed: int, size: float = 0.6) -> dict[str, Moved]:
    """All signals and probes of a host where nothing is wrong."""
    generator = np.random.default_rng(seed)
    sizes = size * generator.standard_normal(len(SIGNALS_AND_PROBES))
    return {name: moved(name, float(one)) for name, one in zip(SIGNALS_AND_PROBES, sizes, strict=True)}


def evidence(signature: Signature, seed: int = 0) -> Sequence[Moved]:
    """What a host looks like that has just what a signature says, beside noise."""
    observed = noise(seed)
    for clue in _first_of_each_group(signature.clues):
        signal = SIGNALS_AND_PROBES[clue.signal]
        sign = 1.0 if clue.direction == "higher" else -1.0
        observed[clue.signal] = moved(clue.signal, sign * CLEAR[signal.role], clue.labels.items())
    return list(observed.values())


def _first_of_each_group(clues: Sequence[Clue]) -> list[Clue]:
    first: dict[str, Clue] = {}
    for number, clue in enumerate(clues):
        first.setdefault(clue.group or str(number), clue)
    return list(first.values())
