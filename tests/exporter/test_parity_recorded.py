"""Another project's tree of /proc and /sys: the real node_exporter and the exporter tell the same of it."""

from __future__ import annotations

import tarfile

import pytest

from tests.exporter.parity import DIFFERENCES, Told, tell, unexplained
from tests.recorded import recorded


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The flags that name the tree's places, the same ones for both exporters."""
    folder = tmp_path_factory.mktemp("tree")
    with tarfile.open(recorded("hosts/node_exporter_fixtures.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (folder / "root").mkdir()
    tree = folder / "node_exporter_fixtures"
    return [f"--path.procfs={tree}/proc", f"--path.sysfs={tree}/sys", f"--path.rootfs={folder}/root"]


@pytest.fixture(scope="module")
def both(paths: list[str], tmp_path_factory: pytest.TempPathFactory) -> Told:
    return tell(tmp_path_factory.mktemp("node"), paths)


def test_both_tell_the_same_of_a_recorded_tree(both: Told) -> None:
    assert unexplained(both.wrong, "recorded") == {}


def test_each_difference_that_is_explained_is_there(both: Told) -> None:
    of_tree = [known for known in DIFFERENCES if known.where == "recorded"]
    found = both.wrong.items()
    assert [known for known in of_tree if not any(known.explains(*one, "recorded") for one in found)] == []


def test_enough_of_the_tree_was_compared(both: Told) -> None:
    same = both.theirs.keys() & both.ours.keys()
    families, there = {series.name for series in same}, {series.name for series in same if both.ours[series]}
    print(f"{len(families)} families, {len(there)} of them not zero, {len(same)} series")
    assert len(families) >= 150
    assert len(there) >= 120
    assert len(same) >= 400
