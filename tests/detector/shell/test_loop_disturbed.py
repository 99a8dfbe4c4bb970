"""The loop where something odd comes between: answers that nobody understands, settings at an unlucky moment."""

from __future__ import annotations

import pytest

from detector.source import Host
from tests.detector.shell.stepped import HOST, Bench


def test_list_of_hosts_that_nobody_understands_is_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    def senseless() -> list[Host]:
        raise KeyError("value")

    bench = Bench()
    bench.go(10)
    usual, bench.source.hosts = bench.source.hosts, senseless  # type: ignore[method-assign]
    bench.go(10)
    assert bench.loop.unready() == "KeyError: 'value'"
    assert bench.notebook.troubles == [(HOST, "KeyError: 'value'")]
    assert caplog.text.count("no hosts: KeyError: 'value'") == 1
    assert bench.sample("hostpulse_detector_read_errors_total", source="made") > 5
    bench.source.hosts = usual  # type: ignore[method-assign]
    bench.go(10)
    assert bench.loop.unready() == ""
