"""One live stack for all tests that ask it: an exporter with GPUs, a detector that has learned, and all rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import servers
from tests.deploy.live import judged_host


@pytest.fixture(scope="package")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Prometheus]:
    """Prometheus that scrapes a host of two GPUs and its detector, with what the shipped rules make of them."""
    with judged_host(tmp_path_factory.mktemp("live")) as store:
        yield store
