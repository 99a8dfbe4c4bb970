"""A host that was watched while it was healthy: what most tests of the pipeline start from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from tests.detector.synthetic import synthetic_frame
from tests.detector.watching import JUDGE, Watched, watch

LEARNED_S = JUDGE.baseline_s + JUDGE.window_s


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """As the detector runs: on matrices of this size more threads only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def learned() -> Watched:
    """The first baseline, and the model fitted at its end."""
    return watch(synthetic_frame(LEARNED_S))
