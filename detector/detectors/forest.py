"""Forest: an Isolation Forest on a few summaries of each subsystem.

Its trees (Liu, Ting & Zhou 2008, https://doi.org/10.1109/ICDM.2008.17) are grown by scikit-learn one by one, as its own
forest takes six times as long, and scored by arrays flattened from them: the same numbers, some dozen times faster on
single rows, and no pickle to keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from detector.detectors.protocol import Detector, Layout, Scores, share_out
from detector.frame import Floats

if TYPE_CHECKING:
    from sklearn.tree import ExtraTreeRegressor

TREES = 100
ROWS_PER_TREE = 256
TOP = 3
SUMMARIES = 4  # of each subsystem
_EULER = 0.5772156649015329


@dataclass(frozen=True, slots=True)
class Forest(Detector):
    """Trees as arrays [trees, nodes]: ``feature`` (-1 in a leaf), ``threshold``, ``left``, ``right``, and ``path``, the
    path length that a leaf stands for. ``normal`` float64[1] is the mean path length in a tree of that many rows;
    ``typical`` float64[4 G] are the medians of the summaries."""

    name: ClassVar[str] = "forest"
    weight: ClassVar[float] = 0.5  # the weakest of the three where it was measured
    least_range: ClassVar[float] = 0.0  # its score is no distance: 1 is the most, and 0.5 usual

    layout: Layout
    feature: npt.NDArray[np.intp]
    threshold: Floats
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    path: Floats
    normal: Floats
    typical: Floats

    @classmethod
    def fit(cls, z: Floats, layout: Layout) -> Self:
        """See ``Detector``."""
        rows = min(ROWS_PER_TREE, len(z))
        table = summaries(z, layout)
        typical = np.median(table, axis=0)
        trees = grown(excess(table, typical), rows)
        return cls(layout, *flattened(trees), _mean_path(np.array([rows])), typical)

    def score(self, z: Floats) -> Scores:
        """See ``Detector``; a subsystem is credited with what the score loses when its summaries are made typical."""
        table = excess(summaries(z, self.layout), self.typical)
        score = self._isolation(table)
        credit = np.zeros((len(z), len(self.layout.subsystems)))
        for group in range(len(self.layout.subsystems)):
            without = table.copy()
            without[:, group * SUMMARIES : (group + 1) * SUMMARIES] = 0.0
            credit[:, group] = np.maximum(score - self._isolation(without), 0.0)
        return Scores(score, self._spread(score, credit, np.abs(np.nan_to_num(z))))

    def rate(self, z: Floats) -> Floats:
        """See ``Detector``."""
        return self._isolation(excess(summaries(z, self.layout), self.typical))

    def _isolation(self, table: Floats) -> Floats:
        """2 to the minus mean path length over the normal one, float64[N]: 0.5 is usual, 1 is alone."""
        trees = np.arange(len(self.feature))[None, :]
        node = np.zeros((len(table), len(self.feature)), dtype=np.intp)
        rows = np.arange(len(table))[:, None]
        while True:
            feature = self.feature[trees, node]
            inner = feature >= 0
            if not inner.any():
                break
            # scikit-learn compares in float32; so do we, or values on a threshold take the other branch.
            goes_left = table[rows, np.maximum(feature, 0)].astype(np.float32) <= self.threshold[trees, node]
            child = np.where(goes_left, self.left[trees, node], self.right[trees, node])
            node = np.where(inner, child, node)
        depth: Floats = self.path[trees, node].mean(axis=1)
        isolation: Floats = np.power(2.0, -depth / self.normal[0])
        return isolation

    def _spread(self, score: Floats, credit: Floats, size: Floats) -> Floats:
        """Contributions [N, F]: the score by subsystem in proportion to credit, within one in proportion to |z|."""
        by_feature = np.zeros_like(size)
        for group in range(len(self.layout.subsystems)):
            columns = self.layout.subsystem == group
            total = size[:, columns].sum(axis=1, keepdims=True)
            share = np.divide(size[:, columns], total, out=np.zeros_like(size[:, columns]), where=total > 0)
            by_feature[:, columns] = credit[:, [group]] * share
        return share_out(score, by_feature)

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """See ``Detector``."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], layout: Layout) -> Self:
        """See ``Detector``."""
        feature, left, right = (arrays[name].astype(np.intp) for name in ("feature", "left", "right"))
        threshold, path, normal, typical = (
            arrays[name].astype(np.float64) for name in ("threshold", "path", "normal", "typical")
        )
        return cls(layout, feature, threshold, left, right, path, normal, typical)


_ARRAYS = ("feature", "threshold", "left", "right", "path", "normal", "typical")


def excess(table: Floats, typical: Floats) -> Floats:
    """Summaries [N, 4 G] less the typical ones: 0 is typical.

    Smaller sizes than typical are typical too: a host without any deviation, or without data, would be alone.
    """
    difference = table - typical
    is_size = np.arange(len(typical)) % SUMMARIES != SUMMARIES - 1
    return np.where(is_size, np.maximum(difference, 0.0), difference)


def summaries(z: Floats, layout: Layout) -> Floats:
    """Per subsystem the logarithms of mean |z|, mean of the top |z|, largest |z|, and the mean signed z: [N, 4 G]."""
    known = np.nan_to_num(z)
    columns = []
    for group in range(len(layout.subsystems)):
        part = known[:, layout.independent[layout.subsystem[layout.independent] == group]]
        size = np.sort(np.abs(part), axis=1) if part.shape[1] else np.zeros((len(z), 1))
        signed = np.clip(part, -100.0, 100.0).mean(axis=1) if part.shape[1] else np.zeros(len(z))
        columns += [
            np.log1p(size.mean(axis=1)),
            np.log1p(size[:, -TOP:].mean(axis=1)),
            np.log1p(size[:, -1]),
            np.sign(signed) * np.log1p(np.abs(signed)),
        ]
    return np.stack(columns, axis=1)


def _mean_path(rows: npt.NDArray[np.intp]) -> Floats:
    """Mean path length of an unsuccessful search in a binary search tree of so many rows."""
    n = rows.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        long = 2.0 * (np.log(n - 1.0) + _EULER) - 2.0 * (n - 1.0) / n
    return np.where(rows <= 1, 0.0, np.where(rows == 2, 1.0, long))


def grown(table: Floats, rows: int) -> list[ExtraTreeRegressor]:
    """Isolation trees of so many rows of ``table`` [N, 4 G] each; the same table gives the same trees."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    chance = np.random.RandomState(0)  # the kind that scikit-learn's trees can share: a new one for each takes longer
    x, depth = table.astype(np.float32), int(np.ceil(np.log2(rows)))
    trees = []
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(TREES):
            # One feature at random, cut anywhere in its range: what the tree is told to predict does not matter.
            tree = ExtraTreeRegressor(max_features=1, max_depth=depth, random_state=chance)
            own = x[chance.choice(len(x), rows, replace=False)]
            trees.append(tree.fit(own, chance.uniform(size=rows), check_input=False))
    return trees


def flattened(
    trees: Sequence[ExtraTreeRegressor],
) -> tuple[npt.NDArray[np.intp], Floats, npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Feature, threshold, left, right and path arrays [trees, most nodes] of fitted trees."""
    nodes = max(each.tree_.node_count for each in trees)
    shape = (len(trees), nodes)
    feature, left, right = (np.full(shape, -1, dtype=np.intp) for _ in range(3))
    threshold, path = np.zeros(shape), np.zeros(shape)
    for row, tree in enumerate(each.tree_ for each in trees):
        count = tree.node_count
        feature[row, :count] = np.where(tree.children_left >= 0, tree.feature, -1)
        threshold[row, :count] = tree.threshold
        left[row, :count], right[row, :count] = tree.children_left, tree.children_right
        path[row, :count] = _depths(tree.children_left, tree.children_right) + _mean_path(tree.n_node_samples)
    return feature, threshold, left, right, path


def _depths(left: npt.NDArray[np.intp], right: npt.NDArray[np.intp]) -> Floats:
    """Depth of each node; children come after their parents in scikit-learn's arrays."""
    depth = np.zeros(len(left))
    for node in np.flatnonzero(left >= 0):
        depth[left[node]] = depth[right[node]] = depth[node] + 1.0
    return depth
