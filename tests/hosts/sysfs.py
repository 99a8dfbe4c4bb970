"""What /sys says of a made-up machine, in the formats of https://docs.kernel.org/admin-guide/cputopology.html,
https://docs.kernel.org/ABI/stable/sysfs-devices-node.html, https://docs.kernel.org/hwmon/sysfs-interface.html,
https://docs.kernel.org/power/powercap/powercap.html, https://docs.kernel.org/admin-guide/RAS/main.html,
https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html and
https://docs.kernel.org/networking/device_drivers/ethernet/mellanox/mlx5/counters.html.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.hosts.machines import Device, Machine
from tests.hosts.procfs import recorded, resized

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_PCI = "/sys/bus/pci/devices"
_POWERCAP = "/sys/class/powercap"
_RDMA = "/sys/class/infiniband"
_RDMA_ERRORS = (
    *("out_of_sequence", "out_of_buffer", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err"),
    *("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored", "req_cqe_error"),
    *("resp_cqe_error", "roce_adp_retrans", "duplicate_request", "rx_icrc_encapsulated", "implied_nak_seq_err"),
)
_AER = {"correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR {}\n", "nonfatal": "TOTAL_ERR_NONFATAL 0\n"}

Entries = Iterator[tuple[str, str]]


def files(machine: Machine, step: int) -> dict[str, str]:
    """The files by their path on the host."""
    parts = (_cpus, _nodes, _sensors, _pci, _disks, _cards, _slices)
    return {path: text if text.endswith("\n") else f"{text}\n" for part in parts for path, text in part(machine, step)}


def links(machine: Machine) -> dict[str, str]:
    """The links, and where each leads to."""
    found = {f"{_NODE}/node{node}/cpu{cpu}": f"{_CPU}/cpu{cpu}" for node, cpu in _homes(machine)}
    chips = ((chip, package) for chip in machine.chips for package in range(machine.packages))
    found |= {f"/sys/class/hwmon/hwmon{at}/device": c.device.format(p) for at, (c, p) in enumerate(chips)}
    for device in machine.devices:
        pci = f"{_PCI}/{device.address}"
        if device.kind in ("adapter", "uplink"):
            found[f"/sys/class/net/{machine.interface(device)}/device"] = pci
            found[f"{pci}/driver"] = f"/sys/bus/pci/drivers/{device.driver}"
        if device.kind == "adapter":
            found[f"{_RDMA}/mlx5_{device.index}/device"] = pci
        if device.kind == "disk":
            found[f"/sys/class/nvme/nvme{device.index}"] = _controller(device)
            found[f"/sys/block/nvme{device.index}n1/device"] = _controller(device)
    return found


def _controller(disk: Device) -> str:
    return f"/sys/devices/pci0000:00/{disk.address}/nvme/nvme{disk.index}"


def _homes(machine: Machine) -> Iterator[tuple[int, int]]:
    return ((node, cpu) for node in range(machine.nodes) for cpu in machine.cpus_of(node))


def _cpus(machine: Machine, step: int) -> Entries:
    for file in ("online", "present", "possible"):
        yield f"{_CPU}/{file}", f"0-{machine.cpus - 1}"
    for node, cpu in _homes(machine):
        here, package, core = f"{_CPU}/cpu{cpu}", machine.package_of(cpu), cpu % machine.cores
        yield f"{here}/topology/physical_package_id", str(package)
        yield f"{here}/topology/core_id", str(core)
        yield f"{here}/topology/die_id", str(node % (machine.nodes // machine.packages))
        for at, state in enumerate(machine.idle_states):
            yield f"{here}/cpuidle/state{at}/name", state
            yield f"{here}/cpuidle/state{at}/time", str(1_000_000 * (at + 1) + cpu + 9000 * step)
            yield f"{here}/cpuidle/state{at}/usage", str(1000 * (at + 1) + cpu + 3 * step)
        if machine.throttles:
            yield f"{here}/thermal_throttle/core_throttle_count", str(core)
            yield f"{here}/thermal_throttle/core_throttle_total_time_ms", str(10 * core)
            yield f"{here}/thermal_throttle/package_throttle_count", str(700 + package)
            yield f"{here}/thermal_throttle/package_throttle_total_time_ms", str(9000 + package)


def _nodes(machine: Machine, step: int) -> Entries:
    """Nodes of GPUs' memory have huge pages and counts of their own, and an empty list of CPUs."""
    whole = machine.nodes + machine.memory_nodes
    for node in range(whole):
        here, cpus = f"{_NODE}/node{node}", machine.cpus_of(node)
        yield f"{here}/cpulist", f"{cpus[0]}-{cpus[-1]}" if cpus else ""
        meminfo = recorded(f"{_NODE}/node0/meminfo").replace("Node 0", f"Node {node}")
        yield f"{here}/meminfo", resized(meminfo, step, 1 / whole)
        counts = (7_000_000 + 90 * step, 20 * node, 10 * node, 1136, 6_999_000 + 80 * step, 1000 + 10 * step)
        keys = ("numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node")
        yield f"{here}/numastat", "".join(f"{key} {number}\n" for key, number in zip(keys, counts, strict=True))
        for result in ("total", "recovered", "delayed", "ignored", "failed"):
            yield f"{here}/memory_failure/{result}", "0"
        for at, size in enumerate(machine.hugepages_kib):
            pool = f"{here}/hugepages/hugepages-{size}kB"
            yield f"{pool}/nr_hugepages", str(64 * node + at)
            yield f"{pool}/free_hugepages", str(16 * node)
            yield f"{pool}/surplus_hugepages", "0"


def _sensors(machine: Machine, step: int) -> Entries:
    at = 0
    for chip in machine.chips:
        for package in range(machine.packages):
            yield f"{chip.device.format(package)}/uevent", ""
            yield f"/sys/class/hwmon/hwmon{at}/name", chip.name
            for file, text in chip.files.items():
                yield f"/sys/class/hwmon/hwmon{at}/{file}", text.format(package)
            at += 1
    for controller in range(machine.memory_controllers * machine.packages):
        yield f"/sys/devices/system/edac/mc/mc{controller}/ce_count", str(3 * controller)
        yield f"/sys/devices/system/edac/mc/mc{controller}/ue_count", "0"
        yield f"/sys/devices/system/edac/mc/mc{controller}/dimm0/dimm_ce_count", str(3 * controller)
        yield f"/sys/devices/system/edac/mc/mc{controller}/dimm0/dimm_label", f"mc#{controller}memory#0"
    for package in range(machine.packages if machine.has_energy else 0):
        zones = {f"intel-rapl:{package}": f"package-{package}"}
        zones |= {f"intel-rapl:{package}:{part}": name for part, name in enumerate(machine.energy_parts)}
        for zone, name in zones.items():
            yield f"{_POWERCAP}/{zone}/name", name
            yield f"{_POWERCAP}/{zone}/energy_uj", str(118_821_284_256 + package + 35_000_000 * step)
            yield f"{_POWERCAP}/{zone}/max_energy_range_uj", "262143328850"


def _pci(machine: Machine, step: int) -> Entries:
    del step
    for device in machine.devices:
        here = f"{_PCI}/{device.address}"
        yield f"{here}/class", device.function
        yield f"{here}/vendor", "0x10de" if device.kind == "gpu" else "0x8086"
        yield f"{here}/numa_node", str(device.node)
        yield f"{here}/current_link_speed", "32.0 GT/s PCIe"
        yield f"{here}/current_link_width", "4" if device.kind == "disk" else "16"
        for severity, text in _AER.items():
            yield f"{here}/aer_dev_{severity}", text.format(device.index)
        yield f"{here}/aer_dev_fatal", "TOTAL_ERR_FATAL 0"
        yield f"/sys/bus/pci/drivers/{device.driver}/uevent", ""


def _disks(machine: Machine, step: int) -> Entries:
    for disk in machine.of_kind("disk"):
        block, controller = f"/sys/block/nvme{disk.index}n1", _controller(disk)
        yield f"{block}/inflight", f"{step % 4:>8} {step % 3:>8}"
        yield f"{block}/queue/nr_requests", "1023"
        yield f"{block}/queue/rotational", "0"
        yield f"{block}/queue/scheduler", "[none] mq-deadline"
        yield f"{controller}/model", "A DISK OF 3.84 TB"
        yield f"{controller}/state", "live"
        yield f"{controller}/serial", f"S{disk.index:07}"
        yield f"{controller}/firmware_rev", "GDC7302Q"
        yield f"{controller}/hwmon{10 + disk.index}/temp1_input", str(38_850 + 1000 * disk.index)


def _cards(machine: Machine, step: int) -> Entries:
    for device in (*machine.of_kind("uplink"), *machine.of_kind("adapter")):
        link = f"/sys/class/net/{machine.interface(device)}"
        yield f"{link}/operstate", "up"
        yield f"{link}/speed", "25000" if device.kind == "uplink" else "400000"
        yield f"{link}/mtu", "9000"
        yield f"{link}/duplex", "full"
        yield f"{link}/address", f"02:00:00:00:{device.kind == 'uplink':02x}:{device.index:02x}"
        yield f"{link}/carrier_changes", "2"
    for adapter in machine.of_kind("adapter"):
        yield from _port(machine, adapter, step)


def _port(machine: Machine, adapter: Device, step: int) -> Entries:
    yield f"{_RDMA}/mlx5_{adapter.index}/board_id", "MT_0000000838"
    yield f"{_RDMA}/mlx5_{adapter.index}/fw_ver", "28.39.1002"
    port = f"{_RDMA}/mlx5_{adapter.index}/ports/1"
    yield f"{port}/state", "4: ACTIVE"
    yield f"{port}/rate", "400 Gb/sec (4X NDR)"
    yield f"{port}/link_layer", "InfiniBand" if machine.infiniband else "Ethernet"
    for at, counter in enumerate(machine.adapter_counters):
        yield f"{port}/counters/{counter}", str((at + 1) * 1_000_000 + adapter.index + 977 * step * (at < 5))
    for at, counter in enumerate(_RDMA_ERRORS):
        yield f"{port}/hw_counters/{counter}", str(10 * at + adapter.index)


def _slices(machine: Machine, step: int) -> Entries:
    del machine
    yield "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids"
    for group in ("system.slice", "user.slice", "kubepods.slice"):
        throttled = f"nr_periods {100 + step}\nnr_throttled 2\nthrottled_usec 700\n"
        yield f"/sys/fs/cgroup/{group}/cpu.stat", f"usage_usec {900_000 + 90 * step}\n{throttled}"
        yield f"/sys/fs/cgroup/{group}/memory.events", "low 0\nhigh 1\nmax 2\noom 0\noom_kill 0\n"
