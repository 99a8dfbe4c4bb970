"""What all tests share: a missing server skips a test on a user's machine and fails it in CI."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator

import pytest

from tests.servers import UnavailableError, process


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--record`` writes golden files anew."""
    parser.addoption("--record", action="store_true", help="write golden files anew; review what changes")


def pytest_configure() -> None:
    """A shell that puts a command behind it has it ignore SIGINT, and so would all programs that tests interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Fixtures may start servers."""
    yield from _skipping()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Tests may start servers."""
    yield from _skipping()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the logs of the servers that still run."""
    report = yield
    if report.failed:
        report.sections += [(f"log of {server.name}", server.logged()) for server in process.running]
    return report


def _skipping() -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
