"""A captured host gives the same exposition as ever; ``pytest --record`` writes it anew after a wanted change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog.family import Profile
from exporter.capture import replay
from exporter.engine import Engine
from exporter.exposition import Format
from exporter.settings import Settings
from tests.servers.packages import binary

_CAPTURES = sorted(Path(__file__).parents[1].glob("hosts/*.capture"))
_OF_THE_PROCESS = frozenset({"build", "clock", "self"})


def _exposition(capture: Path, folder: Path) -> str:
    """What the exporter would show on the captured host, without what it says of itself."""
    host = replay(capture.read_text(encoding="utf-8"), folder)
    built = Engine(Settings(profile=Profile.FULL, disabled=_OF_THE_PROCESS, interval_s=0.01), host=host)
    built.sampler.settle()
    return built.exposition(Format.TEXT).decode()


def test_there_are_captures_to_replay() -> None:
    assert _CAPTURES != []


@pytest.mark.parametrize("capture", _CAPTURES, ids=lambda path: path.stem)
def test_captured_host_gives_its_golden_exposition(
    capture: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    golden = capture.with_suffix(".prom")
    exposed = _exposition(capture, tmp_path)
    if request.config.getoption("--record"):
        golden.write_text(exposed, encoding="utf-8")
    assert exposed.splitlines() == golden.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("capture", _CAPTURES, ids=lambda path: path.stem)
def test_golden_exposition_is_what_promtool_calls_good(capture: Path) -> None:
    golden = capture.with_suffix(".prom").read_text(encoding="utf-8")
    run = subprocess.run(
        [binary("promtool"), "check", "metrics"], input=golden, capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout + run.stderr, run.returncode) == ("", 0)


@pytest.mark.parametrize("capture", _CAPTURES, ids=lambda path: path.stem)
def test_golden_exposition_covers_most_of_the_catalog(capture: Path) -> None:
    families = {metric.name for metric in parse_text(capture.with_suffix(".prom").read_text(encoding="utf-8"))}
    assert len(families) >= 90
