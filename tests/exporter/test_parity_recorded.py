"""Another project's tree of /proc and /sys: the real node_exporter and the exporter tell the same of it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass

import pytest

from catalog import FAMILIES
from catalog.series import Series
from tests.exporter.parity import ALIKE, DIFFERENCES, comparable, differences, samples_of, told, unexplained
from tests.recorded import recorded
from tests.servers import start_node_exporter
from tests.tree import ROOT


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The flags that name the tree's places, the same ones for both exporters."""
    folder = tmp_path_factory.mktemp("tree")
    with tarfile.open(recorded("hosts/node_exporter_fixtures.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (folder / "root").mkdir()
    tree = folder / "node_exporter_fixtures"
    return [f"--path.procfs={tree}/proc", f"--path.sysfs={tree}/sys", f"--path.rootfs={folder}/root"]


def _once(paths: list[str]) -> dict[Series, float]:
    command = [sys.executable, "-m", "exporter", "once", "--profile=full", "--cpu.granularity=core", *paths]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return {Series(sample.name, tuple(sample.labels.items())): sample.value for sample in samples_of(run.stdout)}


@dataclass(frozen=True)
class Told:
    """What both tell of the tree: theirs, and ours from before and after."""

    theirs: dict[Series, float]
    before: dict[Series, float]
    after: dict[Series, float]


@pytest.fixture(scope="module")
def both(paths: list[str], tmp_path_factory: pytest.TempPathFactory) -> Told:
    before = _once(paths)
    with start_node_exporter(tmp_path_factory.mktemp("node"), *ALIKE, *paths) as server:
        samples = samples_of(server.get("/metrics").text)
    return Told(told(samples, FAMILIES.values()), comparable(before, samples), comparable(_once(paths), samples))


def test_both_tell_the_same_of_a_recorded_tree(both: Told) -> None:
    assert unexplained(differences(both.theirs, both.before, both.after), "recorded") == {}


def test_each_difference_that_is_explained_is_there(both: Told) -> None:
    found = differences(both.theirs, both.before, both.after)
    of_tree = [known for known in DIFFERENCES if known.where != "live"]
    assert [known for known in of_tree if not any(known.explains(series, "recorded") for series in found)] == []


def test_enough_of_the_tree_was_compared(both: Told) -> None:
    same = both.theirs.keys() & both.before.keys()
    families, there = {series.name for series in same}, {series.name for series in same if both.before[series]}
    print(f"{len(families)} families, {len(there)} of them not zero, {len(same)} series")
    assert (len(families), len(there), len(same)) >= (100, 80, 250)
