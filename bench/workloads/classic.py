"""Jobs of numpy and scikit-learn: https://scikit-learn.org/stable/supervised_learning.html

All data are made up, from one seed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from bench.workloads.job import Job

_SEED = 0
_ROWS, _COLUMNS = 4096, 512
_BATCH, _WIDTH, _CLASSES, _RATE = 256, 1024, 16, 1e-3
_SAVED_EVERY = 50  # steps
_TREES = 20


def train_perceptron(folder: Path) -> Job:
    """Two dense layers and their gradients by hand, saved every so many steps."""
    random = np.random.default_rng(_SEED)
    data = random.standard_normal((_ROWS, _COLUMNS), dtype=np.float32)
    truth = np.eye(_CLASSES, dtype=np.float32)[random.integers(_CLASSES, size=_ROWS)]
    first = random.standard_normal((_COLUMNS, _WIDTH), dtype=np.float32) / 32
    second = random.standard_normal((_WIDTH, _CLASSES), dtype=np.float32) / 32
    steps = 0

    def step() -> None:
        nonlocal first, second, steps
        rows = random.integers(_ROWS, size=_BATCH)
        hidden = np.maximum(data[rows] @ first, 0)
        scores = hidden @ second
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (shares / shares.sum(axis=1, keepdims=True) - truth[rows]) / _BATCH
        back = (error @ second.T) * (hidden > 0)
        first, second = first - _RATE * data[rows].T @ back, second - _RATE * hidden.T @ error
        steps += 1
        if steps % _SAVED_EVERY == 0:
            np.savez(folder / "perceptron.npz", first=first, second=second)

    return Job(step)


def _forest() -> RandomForestClassifier:
    return RandomForestClassifier(_TREES, random_state=_SEED)


def train_forest(folder: Path) -> Job:
    """A forest from scratch, again and again."""
    del folder
    x, y = make_classification(2000, 40, n_informative=20, random_state=_SEED)
    return Job(lambda: _forest().fit(x, y) and None)


def ask_forest(folder: Path) -> Job:
    """Requests to a forest."""
    del folder
    x, y = make_classification(2000, 40, n_informative=20, random_state=_SEED)
    forest = _forest().fit(x, y)

    def step() -> None:
        forest.predict_proba(x[:64])

    return Job(step)


def stream_clusters(folder: Path) -> Job:
    """Clusters of data that are read from a file and written back part by part, to the disk after the last one."""
    path = folder / "rows.bin"
    random = np.random.default_rng(_SEED)
    random.standard_normal((8 * _ROWS, 64), dtype=np.float32).tofile(path)
    clusters, part, row_bytes = MiniBatchKMeans(16, random_state=_SEED, n_init=1), 0, 64 * 4

    def step() -> None:
        nonlocal part
        part = (part + 1) % 8
        rows = np.fromfile(path, np.float32, _ROWS * 64, offset=part * _ROWS * row_bytes).reshape(_ROWS, 64)
        clusters.partial_fit(rows)
        with path.open("r+b", buffering=0) as file:
            file.seek(part * _ROWS * row_bytes)
            file.write(rows.tobytes())
            if part == 0:
                os.fsync(file)

    return Job(step)


def rank_embeddings(folder: Path) -> Job:
    """Requests for the nearest of many vectors."""
    del folder
    random = np.random.default_rng(_SEED)
    vectors = random.standard_normal((20_000, 256), dtype=np.float32)

    def step() -> None:
        nearness = vectors @ random.standard_normal((256, 4), dtype=np.float32)
        np.argpartition(nearness, -10, axis=0)

    return Job(step)
