"""Hosts of AI clusters, written to the kernel's documented formats, as the running exporter shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog import FAMILIES
from catalog.families import cpu, gpu, host, memory, memoryerrors, network, rdma, softnet, storage
from catalog.families import exporter as own
from catalog.family import Family, Subsystem, Tier
from tests.exporter.collectors import latest, opened, reading
from tests.hosts.cluster import Tree
from tests.hosts.machines import AMD, GRACE, INTEL, MACHINES
from tests.nvml import Stub, profiles
from tests.nvml.stub import VARIABLE
from tests.servers.process import wait_until
from tests.servers.programs import start_exporter

_LIMIT_S = 60.0
_PORTABLE = 0.91  # of the published data set's metrics, between its kinds of host


@dataclass
class Shown:
    """A machine's tree and what the exporter shows of it: values by family and by labels, joined by commas."""

    tree: Tree
    values: Mapping[str, Mapping[str, float]]

    def of(self, family: Family) -> Mapping[str, float]:
        """The values of one family."""
        return self.values.get(family.name, {})

    @property
    def hardware(self) -> frozenset[str]:
        """The families that tell of the host."""
        return frozenset(name for name in self.values if FAMILIES[name].subsystem is not Subsystem.EXPORTER)


def _scraped(address: str) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    text = requests.get(f"http://{address}/metrics", timeout=_LIMIT_S).text
    for sample in (sample for metric in parse_text(text) for sample in metric.samples):
        values.setdefault(sample.name, {})[",".join(sample.labels.values())] = sample.value
    return values


def _shown(tree: Tree, folder: Path, last: Tier = Tier.SLOW) -> Shown:
    """What is shown once the ``last`` tier has been read."""
    with start_exporter(folder, *tree.flags, "--profile=full") as server:

        def complete() -> dict[str, dict[str, float]] | None:
            values = _scraped(server.address)
            return values if last in values[own.SAMPLE_TIMESTAMP_SECONDS.name] else None

        return Shown(tree, wait_until(complete, _LIMIT_S, f"a sample of the {last} tier"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    """What is shown of each machine."""
    trees = {name: Tree(machine, tmp_path_factory.mktemp(name)) for name, machine in MACHINES.items()}
    return {name: _shown(tree, tmp_path_factory.mktemp(f"{name}-log")) for name, tree in trees.items()}


@pytest.fixture(params=MACHINES)
def one(request: pytest.FixtureRequest, shown: dict[str, Shown]) -> Shown:
    """Each machine in turn."""
    return shown[request.param]


def test_most_families_are_common_to_intel_amd_and_arm(shown: dict[str, Shown]) -> None:
    each = [one.hardware for one in shown.values()]
    common, anywhere = frozenset.intersection(*each), frozenset.union(*each)
    print(f"{len(common)} of {len(anywhere)} families are common")  # pytest -rP shows it
    assert len(common) / len(anywhere) >= _PORTABLE
    assert {FAMILIES[name] for name in anywhere - common} == {
        cpu.CORE_THROTTLES, cpu.CORE_THROTTLE_SECONDS, cpu.PACKAGE_THROTTLES, cpu.PACKAGE_THROTTLE_SECONDS,
        cpu.MACHINE_CHECKS, host.RAPL_ENERGY_JOULES, host.HWMON_TEMPERATURE_CELSIUS, host.HWMON_POWER_WATTS,
    }  # fmt: skip


def test_no_collector_fails_on_any_of_them(one: Shown) -> None:
    success = one.of(own.COLLECTOR_SUCCESS)
    assert len(success) > 30
    assert set(success.values()) == {1.0}


def test_many_cpus_are_told_by_numa_node_without_being_asked(one: Shown) -> None:
    machine = one.tree.machine
    nodes = {f"node{node}" for node in range(machine.nodes)}
    for family in (cpu.SECONDS, cpu.SOFTIRQS, cpu.INTERRUPTS, cpu.IDLE_STATE_SECONDS, softnet.SOFTNET_PROCESSED):
        assert {labels.partition(",")[0] for labels in one.of(family)} == nodes, family.name
    assert len(one.of(cpu.TOPOLOGY_INFO)) == machine.cpus
    rows = [line.split() for line in one.tree.text("/proc/stat").splitlines() if line.startswith("cpu")]
    user = {int(row[0][3:]): int(row[1]) / 100 for row in rows[1:]}
    for node in range(machine.nodes):
        mean = fmean(user[number] for number in machine.cpus_of(node))
        assert one.of(cpu.SECONDS)[f"node{node},user"] == pytest.approx(mean)


def test_interrupts_are_spread_over_the_nodes_that_their_devices_sit_on(one: Shown) -> None:
    machine, counts = one.tree.machine, [0.0] * one.tree.machine.nodes
    for line in one.tree.text("/proc/interrupts").splitlines()[1:]:
        words = line.split()[1 : machine.cpus + 1]
        for node in range(machine.nodes) if len(words) == machine.cpus else ():
            counts[node] += sum(int(words[number]) for number in machine.cpus_of(node))
    assert one.of(cpu.INTERRUPTS) == {f"node{node}": count for node, count in enumerate(counts)}
    by_class = one.of(cpu.INTERRUPTS_BY_CLASS)
    assert {"LOC", "RES", "CAL", "IWI", "nvidia", "mlx5", "nvme"} <= set(by_class)
    assert sum(by_class.values()) == sum(counts)


def test_topology_and_model_are_those_of_the_machine(one: Shown) -> None:
    machine = one.tree.machine
    last = machine.cpus - 1
    (labels,) = [labels for labels in one.of(cpu.TOPOLOGY_INFO) if labels.startswith(f"{last},")]
    die = machine.nodes // machine.packages - 1
    assert labels == f"{last},{machine.cores - 1},1,{die},{machine.nodes - 1}"
    models = {
        INTEL.name: "GenuineIntel,6,143,8,0x2b000603,Intel(R) Xeon(R) Platinum 8480C",
        AMD.name: "AuthenticAMD,25,17,1,0xa101148,AMD EPYC 9654 96-Core Processor",
        GRACE.name: "0x41,8,0xd4f,0,,",
    }
    packages = 1 if machine is GRACE else 2  # Arm's kernel does not say there which package a CPU is in
    assert set(one.of(cpu.INFO)) == {f"{package},{models[machine.name]}" for package in range(packages)}


def test_memory_is_told_by_node_and_that_of_gpus_is_a_node_too(one: Shown) -> None:
    machine, tree = one.tree.machine, one.tree
    for node in range(machine.nodes + machine.memory_nodes):
        place = f"/sys/devices/system/node/node{node}"
        hits = next(line.split()[1] for line in tree.text(f"{place}/numastat").splitlines())
        assert one.of(memory.NUMA_HIT)[str(node)] == int(hits)
        total = next(line.split()[3] for line in tree.text(f"{place}/meminfo").splitlines() if "MemTotal" in line)
        assert one.of(memory.NUMA_TOTAL_BYTES)[str(node)] == int(total) * 1024
    assert len(one.of(memory.NUMA_HIT)) == machine.nodes + machine.memory_nodes


def test_huge_pages_are_told_by_size_and_node(one: Shown) -> None:
    machine = one.tree.machine
    sizes = {labels.split(",")[1] for labels in one.of(memory.HUGEPAGES)}
    assert sizes == {f"{size}kB" for size in machine.hugepages_kib}
    assert len(one.of(memory.HUGEPAGES)) == 3 * len(sizes) * (machine.nodes + machine.memory_nodes)
    largest = machine.hugepages_kib[-1]
    pool = f"/sys/devices/system/node/node1/hugepages/hugepages-{largest}kB/nr_hugepages"
    assert one.of(memory.HUGEPAGES)[f"1,{largest}kB,total"] == one.tree.number(pool) > 64


def test_idle_states_have_the_names_that_their_driver_gives_them(one: Shown) -> None:
    machine = one.tree.machine
    states = {labels.split(",")[1] for labels in one.of(cpu.IDLE_STATE_SECONDS)}
    assert states == set(machine.idle_states)
    times = [
        one.tree.number(f"/sys/devices/system/cpu/cpu{number}/cpuidle/state0/time") / 1e6
        for number in machine.cpus_of(0)
    ]
    assert one.of(cpu.IDLE_STATE_SECONDS)[f"node0,{machine.idle_states[0]}"] == pytest.approx(fmean(times))


def test_memory_controllers_tell_errors_on_all_of_them(one: Shown) -> None:
    many = one.tree.machine.memory_controllers * one.tree.machine.packages
    assert one.of(memoryerrors.EDAC_CORRECTABLE_ERRORS) == {str(at): 3.0 * at for at in range(many)}
    assert one.of(memoryerrors.EDAC_UNCORRECTABLE_ERRORS) == {str(at): 0.0 for at in range(many)}


def test_only_intel_tells_of_throttling_by_core_and_package(shown: dict[str, Shown]) -> None:
    intel = shown[INTEL.name]
    assert intel.of(cpu.PACKAGE_THROTTLES) == {"0": 700, "1": 701}
    assert intel.of(cpu.PACKAGE_THROTTLE_SECONDS)["1"] == pytest.approx(9.001)
    cores = {f"{package},{core}": float(core) for package in range(2) for core in range(INTEL.cores)}
    assert intel.of(cpu.CORE_THROTTLES) == cores
    assert all(not shown[name].of(cpu.CORE_THROTTLES) for name in (AMD.name, GRACE.name))


def test_energy_is_told_by_package_and_part_but_not_on_arm(shown: dict[str, Shown]) -> None:
    parts = {INTEL.name: "dram", AMD.name: "core"}
    for name, part in parts.items():
        joules = shown[name].of(host.RAPL_ENERGY_JOULES)
        assert set(joules) == {"package,0", "package,1", f"{part},0", f"{part},1"}
        assert joules["package,1"] == pytest.approx(118_821.284257)
    assert shown[GRACE.name].of(host.RAPL_ENERGY_JOULES) == {}


def test_sensors_are_named_after_the_device_that_they_sit_on(shown: dict[str, Shown]) -> None:
    temperatures = {name: one.of(host.HWMON_TEMPERATURE_CELSIUS) for name, one in shown.items()}
    assert temperatures[INTEL.name]["platform_coretemp_1,temp1,Package id 1"] == 54
    assert temperatures[AMD.name]["pci0000:00_0000:01:18_3,temp1,Tctl"] == 48.25
    assert temperatures[GRACE.name] == {}
    assert shown[GRACE.name].of(host.HWMON_POWER_WATTS) == {
        f"lnxsystm:00_acpi000d:0{package},power1": 181.25 for package in range(2)
    }


def test_each_adapter_tells_its_bytes_and_errors(one: Shown) -> None:
    machine = one.tree.machine
    ports = [f"mlx5_{index},1" for index in range(machine.adapters)]
    assert list(one.of(rdma.RDMA_RECEIVE_BYTES)) == ports
    for index, port in enumerate(ports):
        files = f"/sys/class/infiniband/mlx5_{index}/ports/1"
        words = one.tree.number(f"{files}/counters/port_rcv_data")
        assert one.of(rdma.RDMA_RECEIVE_BYTES)[port] == 4 * words
        lost = one.tree.number(f"{files}/hw_counters/out_of_sequence")
        assert one.of(rdma.RDMA_OUT_OF_SEQUENCE)[port] == lost
    assert set(one.of(rdma.RDMA_RATE_BYTES_PER_SECOND).values()) == {50e9}


def test_cards_and_disks_tell_their_node(one: Shown) -> None:
    machine = one.tree.machine
    node_of = {labels.split(",")[0]: labels.rsplit(",", 1)[1] for labels in one.of(network.INFO)}
    last = machine.of_kind("adapter")[-1]
    assert node_of[machine.interface(last)] == str(last.node) == str(machine.nodes - 1)
    disks = {labels.split(",")[0]: labels.rsplit(",", 1)[1] for labels in one.of(storage.DEVICE_INFO)}
    assert disks == {f"nvme{disk.index}n1": str(disk.node) for disk in machine.of_kind("disk")}


def test_links_and_adapters_tell_how_they_are_attached(one: Shown) -> None:
    machine = one.tree.machine
    widths = {device.address: 4 if device.kind == "disk" else 16 for device in machine.devices}
    assert one.of(host.PCIE_LINK_WIDTH) == widths
    assert one.of(host.PCIE_LINK_SPEED_TRANSFERS_PER_SECOND) == dict.fromkeys(widths, 32e9)
    last, layer = machine.of_kind("adapter")[-1], "InfiniBand" if machine.infiniband else "Ethernet"
    assert f"mlx5_{last.index},1,MT_0000000838,28.39.1002,{layer},,{last.node}" in one.of(rdma.RDMA_INFO)


def test_file_of_an_adapter_that_cannot_be_read_loses_one_value(tmp_path: Path) -> None:
    tree = Tree(INTEL, tmp_path)
    bad = tree.place("/sys/class/infiniband/mlx5_3/ports/1/counters/port_rcv_packets")
    bad.unlink()
    bad.mkdir()  # opens and cannot be read, even by root
    values = reading("rdmaport", tree.host)
    missing = [series for series, value in values.items() if isnan(value)]
    assert missing == ['network_rdma_receive_packets_total{device="mlx5_3",port="1"}']
    assert len(values) == 7 * INTEL.adapters


def test_pages_of_64_kib_count_as_such(tmp_path: Path) -> None:
    values = reading("vmstat", Tree(GRACE, tmp_path).host)
    words = Tree(GRACE, tmp_path / "again").text("/proc/vmstat").split()
    pages = int(words[words.index("nr_dirty_threshold") + 1])
    assert values["memory_dirty_threshold_bytes"] == pages * 65536


def test_counts_grow_as_time_passes_on_the_tree(tmp_path: Path) -> None:
    tree = Tree(GRACE, tmp_path)
    stat = opened("stat", tree.host)
    before = latest(stat)
    tree.advance(10)
    after = latest(stat)
    busy = [after[name] - before[name] for name in after if name.startswith("cpu_seconds") and 'cpu="7"' in name]
    assert sum(busy) == pytest.approx(1.0)
    stat.close()


def test_eight_gpus_are_shown_beside_their_host(
    stub: Stub, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.say(profiles.host(profiles.H100, INTEL.gpus))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    monkeypatch.setenv(VARIABLE, str(stub.path))
    seen = _shown(Tree(INTEL, tmp_path / "tree", is_here=True), tmp_path, Tier.GPU)
    assert seen.of(gpu.UP) == {str(number): 1.0 for number in range(8)}
    assert seen.of(gpu.DEVICES) == {"nvml": 8, "pci": 8}
    assert sum(map(len, seen.values.values())) > 2000
