from __future__ import annotations

import asyncio
import logging

import pytest
from tornado.netutil import bind_sockets

from catalog.family import Tier
from exporter import serving
from exporter.settings import Settings
from tests.exporter.tiny import Hands, Script, engine, scripted


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_sampler_that_breaks_ends_the_process_with_status_1(caplog: pytest.LogCaptureFixture) -> None:
    built = engine(Hands(), scripted("tiny", Tier.FAST, Script()))

    def wait(_: float) -> None:
        raise MemoryError

    built.clock.wait = wait
    with caplog.at_level(logging.ERROR):
        status = asyncio.run(serving._run(built, Settings(), bind_sockets(0, "127.0.0.1")))
    assert status == 1
    assert "the sampler has ended unexpectedly" in caplog.text
