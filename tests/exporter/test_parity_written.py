"""Trees written to the kernel's formats, with what few machines have: the real node_exporter tells the same of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from catalog import FAMILIES
from exporter.host import Host
from tests.exporter.parity import Told, tell, unexplained
from tests.hosts import captured_vm, written
from tests.hosts.cluster import Tree
from tests.hosts.hardware import hardware
from tests.hosts.machines import MACHINES, Machine

# Events are counted and filesystems looked at on the running machine only; no tree's kernel knows of corrupted memory;
# what follows is newer than the node_exporter that the tests run, which is 1.5.
ELSEWHERE = re.compile(
    r"node_((perf|filesystem)_\w+|memory_HardwareCorrupted_bytes"
    r"|cpu_online|softnet_backlog_len|softirqs_functions_total|kernel_hung_task_detect_count)"
)
NEWER = "/hw_counters/"


def _tree(machine: Machine, folder: Path) -> Host:
    return Tree(machine, folder).host


TREES: dict[str, Callable[[Path], Host]] = {
    "vm": captured_vm,
    "hardware": hardware,
    **{name: partial(_tree, machine) for name, machine in MACHINES.items()},
}


def _demanded(host: Host) -> Iterator[tuple[str, str]]:
    """Files that node_exporter gives up without, and that we have no use for."""
    for device in host.glob("/sys/class/infiniband/*"):
        yield from ((f"{device}/{file}", "1\n") for file in ("board_id", "fw_ver", "hca_type"))
        for port in host.glob(f"{device}/ports/*"):
            yield f"{port}/phys_state", "5: LinkUp\n"
            if not host.exists(f"{port}/rate"):
                yield f"{port}/rate", "100 Gb/sec (4X EDR)\n"
    bonds = [path.removesuffix("/bonding/slaves") for path in host.glob("/sys/class/net/*/bonding/slaves")]
    yield "/sys/class/net/bonding_masters", " ".join(bond.rpartition("/")[2] for bond in bonds) + "\n"
    for bond in bonds:
        for link in host.text(f"{bond}/bonding/slaves").split():
            status = host.text(f"/sys/class/net/{link}/bonding_slave/mii_status")
            yield f"{bond}/lower_{link}/bonding_slave/mii_status", f"{status}\n"
    yield from ((f"{zone}/policy", "step_wise\n") for zone in host.glob("/sys/class/thermal/thermal_zone*"))
    for policy in host.glob("/sys/devices/system/cpu/cpu*/cpufreq"):
        told = ("related_cpus", "scaling_available_governors", "scaling_driver", "scaling_governor", "scaling_setspeed")
        yield from ((f"{policy}/{file}", "0\n") for file in told)
    for controller in host.glob("/sys/devices/system/edac/mc/mc*"):
        yield from ((f"{controller}/{file}_noinfo_count", "0\n") for file in ("ce", "ue"))


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """What both tell of each tree."""
    found = {}
    for name, make in TREES.items():
        folder = tmp_path_factory.mktemp("tree")
        written(folder, dict(_demanded(make(folder))))
        paths = [f"--path.procfs={folder}/proc", f"--path.sysfs={folder}/sys", f"--path.rootfs={folder}"]
        found[name] = tell(tmp_path_factory.mktemp("node"), paths)
    return found


@pytest.mark.parametrize("tree", TREES)
def test_both_tell_the_same_of_a_written_tree(tree: str, trees: dict[str, Told]) -> None:
    assert unexplained(trees[tree].wrong, "written") == {}


def test_enough_of_the_trees_was_compared(trees: dict[str, Told]) -> None:
    compared = [told.theirs.keys() & told.ours.keys() for told in trees.values()]
    families = {series.name for same in compared for series in same}
    print(f"{len(families)} families, {sum(map(len, compared))} series of {len(trees)} trees")
    assert len(families) >= 180
    assert sum(map(len, compared)) >= 7000


def test_each_alias_of_node_exporter_is_compared_or_too_new(trees: dict[str, Told]) -> None:
    compared = {series.name for told in trees.values() for series in told.theirs.keys() & told.ours.keys()}
    missing = {
        alias.name
        for family in FAMILIES.values()
        for alias in family.aliases
        if alias.name.startswith("node_") and family.name not in compared and NEWER not in family.source
    }
    assert {name for name in missing if not ELSEWHERE.fullmatch(name)} == set()
