"""Company: what the hosts of one workload group show in the same window, and what is usual among the others of each."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from detector.features import Features
from detector.frame import Floats
from detector.training import align

LEAST_HOSTS = 4  # the median of three others bears one of them that is sick and not yet known to be
COMMON_HOSTS, COMMON_SHARE = 3, 0.1  # flagged at a time: what they share is to blame, not each of them
_MARK = "among"


@dataclass(frozen=True, slots=True)
class Company:
    """One window of a group of ``size`` hosts. ``ordered`` float64[K, F] are the K hosts that are compared with, each
    column sorted, of ``names``; ``rows`` float64[F] by instance are those that were there; ``flagged`` have an
    episode, and the others are not compared with who is ``left_out``.
    """

    group: str = ""
    names: tuple[str, ...] = ()
    ordered: Floats | None = None
    rows: Mapping[str, Floats] | None = None
    flagged: Set[str] = frozenset()
    size: int = 1
    left_out: Set[str] = frozenset()

    def middle(self, instance: str, names: tuple[str, ...]) -> Floats:
        """Median float64[F] of each feature of ``names`` among the others that are not flagged; NaN of too few."""
        if self.ordered is None or self.rows is None:
            return np.full(len(names), np.nan)
        known = (~np.isnan(self.ordered)).sum(axis=0)
        own = np.full(len(self.names), np.nan) if instance in self.left_out else self.rows[instance]
        is_in = ~np.isnan(own)
        # Without the own value the order of the others stays, but for one place that all behind it move up to.
        place = np.where(is_in, (self.ordered < own).sum(axis=0), len(self.ordered))
        count, columns = known - is_in, np.arange(len(self.names))
        sides = [np.maximum(side, 0) for side in ((count - 1) // 2, count // 2)]
        low, high = (self.ordered[np.minimum(at + (at >= place), len(self.ordered) - 1), columns] for at in sides)
        middle = np.where(count >= LEAST_HOSTS - 1, (low + high) / 2, np.nan)
        aligned: Floats = align(middle[None, :], self.names, names)[0]
        return aligned

    def common(self, instance: str, active: bool) -> bool:
        """Whether an episode of this host is one of many in its group."""
        flagged = len(self.flagged - {instance}) + 1
        return active and flagged >= max(COMMON_HOSTS, COMMON_SHARE * self.size)


ALONE = Company()


def gather(
    group: str, windows: Mapping[str, Features], flagged: Set[str], size: int, worked_on: Set[str] = frozenset()
) -> Company:
    """The company of hosts whose ``windows`` (one each, by instance) end at the same time.

    Who is late is not among them; who is flagged or worked on is compared with the others, and they are not with it.
    """
    names = _union(tuple(window.names for window in windows.values()))
    rows = {
        instance: align(window.x, window.names, names)[0].astype(np.float64) for instance, window in windows.items()
    }
    left_out = flagged | worked_on
    healthy = [row for instance, row in rows.items() if instance not in left_out]
    ordered = np.sort(np.stack(healthy), axis=0) if healthy else None
    return Company(group, names, ordered, rows, flagged, size, left_out)


def extended(names: tuple[str, ...], group: str) -> tuple[str, ...]:
    """Names of a row that is remembered: the host's own features, and what they were among the others of its group."""
    return names + among(names, group)


@lru_cache(maxsize=64)
def among(names: tuple[str, ...], group: str) -> tuple[str, ...]:
    """Names of the medians of these features among the others of a group."""
    return tuple(f"{_MARK} {group} {name}" for name in names)


@lru_cache(maxsize=64)
def _union(names: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names for name in each))
