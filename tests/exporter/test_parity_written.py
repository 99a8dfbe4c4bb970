"""Trees written to the kernel's formats, with what few machines have: the real node_exporter tells the same of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.host import Host
from tests.exporter.parity import Told, tell, unexplained
from tests.hosts import captured_vm, written
from tests.hosts.hardware import hardware

TREES: tuple[Callable[[Path], Host], ...] = (captured_vm, hardware)


def _demanded(host: Host) -> Iterator[tuple[str, str]]:
    """Files that node_exporter gives up without, and that we have no use for."""
    for device in host.glob("/sys/class/infiniband/*"):
        yield from ((f"{device}/{file}", "1\n") for file in ("board_id", "fw_ver", "hca_type"))
        for port in host.glob(f"{device}/ports/*"):
            yield f"{port}/phys_state", "5: LinkUp\n"
            if not host.exists(f"{port}/rate"):
                yield f"{port}/rate", "100 Gb/sec (4X EDR)\n"
    for controller in host.glob("/sys/devices/system/edac/mc/mc*"):
        yield from ((f"{controller}/{file}_noinfo_count", "0\n") for file in ("ce", "ue"))


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """What both tell of each tree."""
    found = {}
    for make in TREES:
        folder = tmp_path_factory.mktemp("tree")
        written(folder, dict(_demanded(make(folder))))
        paths = [f"--path.procfs={folder}/proc", f"--path.sysfs={folder}/sys", f"--path.rootfs={folder}"]
        found[make.__name__] = tell(tmp_path_factory.mktemp("node"), paths)
    return found


@pytest.mark.parametrize("tree", [make.__name__ for make in TREES])
def test_both_tell_the_same_of_a_written_tree(tree: str, trees: dict[str, Told]) -> None:
    assert unexplained(trees[tree].wrong, "written") == {}


def test_enough_of_the_trees_was_compared(trees: dict[str, Told]) -> None:
    compared = [told.theirs.keys() & told.before.keys() for told in trees.values()]
    families = {series.name for same in compared for series in same}
    print(f"{len(families)} families, {sum(map(len, compared))} series of {len(trees)} trees")
    assert (len(families), sum(map(len, compared))) >= (160, 250)
