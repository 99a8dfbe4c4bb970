"""Attribution: which subsystem is to blame, from what changed since just before the onset.

Levels mislead: on a recorded cluster run the contrast with the time before onset named the right subsystem in
52 of 54 faults, the level in 23. Utilisation rises with anything, so saturation, errors and states weigh more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from catalog.family import Subsystem
from catalog.signal import JUDGED_SUBSYSTEMS, Role
from detector.features import Feature, by_channel, from_scale
from detector.frame import Floats
from detector.pruning import Groups
from detector.recalled import recalled
from detector.verdict import Cause

ROLE_WEIGHT = {Role.UTILISATION: 0.5, Role.SATURATION: 1.0, Role.ERROR: 1.0, Role.STATE: 1.0}
# Whatever the other subsystems do costs the CPU time: it leads only where nothing else moved as much.
SUBSYSTEM_WEIGHT = {Subsystem.CPU: 0.4}
TOP = 3
MOST_DEVIATION = 50.0  # beyond, one channel's size says nothing more about who is to blame
LEAST_EVIDENCE = 1.0
DOUBT = 0.5  # of the usual evidence, for each subsystem
LEADING_SHARE = 0.35  # below this nothing leads
CLEARLY = 4.0  # times the share of what was blamed before, which is twice the evidence
UNKNOWN = "unknown"


def contrast(size: Floats, before: Floats) -> Floats:
    """How much each |deviation| [F] grew since before the onset [F]; never negative."""
    return np.maximum(size - before, 0.0)


def weighted(size: Floats, features: tuple[Feature, ...]) -> Floats:
    """Evidence [N, F]: deviations [N, F], up to a limit, by the weight of their signal's role."""
    return np.minimum(size, MOST_DEVIATION) * _role_weights(features)


@recalled
def _role_weights(features: tuple[Feature, ...]) -> Floats:
    return np.array([ROLE_WEIGHT[feature.channel.role] for feature in features])


def by_subsystem(evidence: Floats, features: tuple[Feature, ...]) -> Floats:
    """Evidence of each subsystem [N, G]: mean of its strongest channels, each with its best statistic."""
    result = np.zeros((len(evidence), len(JUDGED_SUBSYSTEMS)))
    for number, (columns, starts) in enumerate(_columns(features)):
        if len(columns):
            best = np.maximum.reduceat(evidence[:, columns], starts, axis=1)
            result[:, number] = np.sort(best, axis=1)[:, -TOP:].sum(axis=1) / TOP
    return result


@recalled
def _columns(features: tuple[Feature, ...]) -> Sequence[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Of each judged subsystem the columns, channel by channel, and where among them each channel begins."""
    found = []
    for subsystem in JUDGED_SUBSYSTEMS:
        own = [columns for channel, columns in by_channel(features).items() if channel.subsystem == subsystem]
        starts = np.cumsum([0, *map(len, own[:-1])], dtype=np.intp)
        found.append((np.array([column for columns in own for column in columns], dtype=np.intp), starts))
    return found


def shares(evidence: Floats, usual: Floats, there: Collection[str] = JUDGED_SUBSYSTEMS) -> dict[str, float]:
    """Share of each subsystem from evidence [G] over its usual size [G]; they sum to 1.

    Half of what is usual counts for each, so that the shares are even where there is little evidence of anything; but
    nothing for one that is not ``there``, such as GPUs on a host that has none.
    """
    weights: Floats = np.array([SUBSYSTEM_WEIGHT.get(Subsystem(name), 1.0) for name in JUDGED_SUBSYSTEMS])
    doubt = DOUBT * np.array([name in there for name in JUDGED_SUBSYSTEMS])
    relative = (weights * np.maximum(evidence / usual, 0.0)) ** 2 + doubt**2
    parts = relative / relative.sum()
    return {subsystem: float(part) for subsystem, part in zip(JUDGED_SUBSYSTEMS, parts, strict=True)}


def leading(by_share: dict[str, float]) -> str:
    """The subsystem to blame, or ``unknown`` when nothing leads."""
    name = max(by_share, key=lambda subsystem: by_share[subsystem])
    return name if by_share[name] >= LEADING_SHARE else UNKNOWN


def still(by_share: dict[str, float], before: str) -> str:
    """The subsystem to blame for what opens again and was blamed on ``before``: another one only where that leads
    clearly, since each new name is another alert."""
    name = leading(by_share)
    if before not in by_share:  # nothing led then
        return name
    return name if name != UNKNOWN and by_share[name] >= CLEARLY * by_share[before] else before


def causes(
    evidence: Floats, z: Floats, x: Floats, median: Floats, features: tuple[Feature, ...], groups: Groups, most: int
) -> tuple[Cause, ...]:
    """The channels with the strongest evidence [F], each once, with typical and actual value in their own unit."""
    typical, actual = from_scale(median, features), from_scale(x, features)
    found: dict[str, Cause] = {}
    for column in np.argsort(-evidence, kind="stable"):
        if len(found) == most or not evidence[column] > 0:
            break
        feature = features[column]
        channel = feature.channel
        if str(channel) not in found:
            found[str(channel)] = Cause(
                str(channel),
                feature.statistic,
                channel.subsystem,
                channel.unit,
                float(typical[column]),
                float(actual[column]),
                float(z[column]),
                _members(int(column), features, groups),
            )
    return tuple(found.values())


def _members(column: int, features: tuple[Feature, ...], groups: Groups) -> tuple[str, ...]:
    """Other channels that pruning grouped with this feature's."""
    position = int(groups.group[column])
    if position < 0:
        return ()
    names = dict.fromkeys(str(features[member].channel) for member in groups.members(position))
    names.pop(str(features[column].channel), None)
    return tuple(names)
