"""Hosts of the kinds that AI clusters have, as the parts from which their files are written. None was recorded.

What differs between architectures follows https://docs.kernel.org/arch/x86/cpuinfo.html,
https://docs.kernel.org/arch/arm64/cpu-feature-registers.html, https://docs.kernel.org/admin-guide/pm/cpuidle.html,
https://docs.kernel.org/admin-guide/mm/hugetlbpage.html and arch_show_interrupts of arch/x86/kernel/irq.c and
arch/arm64/kernel/smp.c in https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/arch
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count


@dataclass(frozen=True)
class Device:
    """A device on PCI Express: ``index`` counts those of its kind, ``function`` is its class as sysfs writes it."""

    kind: str
    index: int
    address: str
    node: int
    function: str
    driver: str
    vectors: int


@dataclass(frozen=True)
class Chip:
    """A sensor chip that each package has: where its device lies for package ``{}``, and its files."""

    name: str
    device: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Machine:
    """A host with one thread a core. NUMA nodes and packages have equal shares of the CPUs.

    ``memory_nodes`` are further nodes, of GPUs' memory, without CPUs. ``arch_vectors`` are the rows of /proc/interrupts
    that the architecture itself writes, ``msi`` how it writes a device's.
    """

    name: str
    packages: int
    cores: int
    nodes: int
    cpuinfo: str
    idle_states: tuple[str, ...]
    arch_vectors: tuple[tuple[str, str], ...]
    error_vectors: tuple[str, ...]
    msi: str
    chips: tuple[Chip, ...]
    hugepages_kib: tuple[int, ...] = (2048, 1048576)
    page_bytes: int = 4096
    energy_parts: tuple[str, ...] = ()
    has_energy: bool = False
    throttles: bool = False
    memory_controllers: int = 2
    memory_nodes: int = 0
    gpus: int = 8
    adapters: int = 8
    infiniband: bool = True
    adapter_counters: tuple[str, ...] = field(default=(), repr=False)

    @property
    def cpus(self) -> int:
        """How many there are."""
        return self.packages * self.cores

    def package_of(self, cpu: int) -> int:
        """The package that a CPU sits in."""
        return cpu // self.cores

    def cpus_of(self, node: int) -> range:
        """The CPUs of a node."""
        each = self.cpus // self.nodes if node < self.nodes else 0
        return range(node * each, (node + 1) * each)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """GPUs, RDMA adapters, disks and two network cards, spread over the nodes."""
        buses = count(0x18, 3)
        adapter = ("0x020700" if self.infiniband else "0x020000", "mlx5_core", 17)
        kinds = {
            "gpu": (self.gpus, "0x030200", "nvidia", 6),
            "adapter": (self.adapters, *adapter),
            "disk": (4, "0x010802", "nvme", 33),
            "uplink": (2, "0x020000", "ice", 17),
        }
        return tuple(
            Device(kind, index, f"0000:{next(buses):02x}:00.0", index * self.nodes // many, function, driver, vectors)
            for kind, (many, function, driver, vectors) in kinds.items()
            for index in range(many)
        )

    def of_kind(self, kind: str) -> tuple[Device, ...]:
        """Its devices of one kind."""
        return tuple(device for device in self.devices if device.kind == kind)

    def interface(self, device: Device) -> str:
        """The name of a network card's interface."""
        if device.kind == "uplink":
            return f"eno{device.index + 1}"
        return f"ib{device.index}" if self.infiniband else f"rdma{device.index}"


_X86_INFO = """\
processor\t: {{cpu}}
vendor_id\t: {vendor}
cpu family\t: {family}
model\t\t: {model}
model name\t: {name}
stepping\t: {stepping}
microcode\t: {microcode}
cpu MHz\t\t: 2000.000
physical id\t: {{package}}
siblings\t: {cores}
core id\t\t: {{core}}
cpu cores\t: {cores}
flags\t\t: fpu vme de pse tsc msr pae mce constant_tsc nonstop_tsc aperfmperf
power management:

"""
_ARM_INFO = """\
processor\t: {cpu}
BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid sve sve2 i8mm bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd4f
CPU revision\t: 0

"""
_X86_VECTORS = (
    ("NMI", "Non-maskable interrupts"),
    ("LOC", "Local timer interrupts"),
    ("SPU", "Spurious interrupts"),
    ("PMI", "Performance monitoring interrupts"),
    ("IWI", "IRQ work interrupts"),
    ("RTR", "APIC ICR read retries"),
    ("RES", "Rescheduling interrupts"),
    ("CAL", "Function call interrupts"),
    ("TLB", "TLB shootdowns"),
    ("TRM", "Thermal event interrupts"),
    ("THR", "Threshold APIC interrupts"),
    ("DFR", "Deferred Error APIC interrupts"),
    ("MCE", "Machine check exceptions"),
    ("MCP", "Machine check polls"),
)
_ARM_VECTORS = (
    ("12", "GICv3  26 Level     arch_timer"),
    ("13", "GICv3  23 Level     arm-pmu"),
    ("IPI0", "Rescheduling interrupts"),
    ("IPI1", "Function call interrupts"),
    ("IPI2", "CPU stop interrupts"),
    ("IPI3", "CPU stop NMIs"),
    ("IPI4", "Timer broadcast interrupts"),
    ("IPI5", "IRQ work interrupts"),
)
_IB_COUNTERS = (
    *("port_rcv_data", "port_xmit_data", "port_rcv_packets", "port_xmit_packets", "port_xmit_wait"),
    *("port_xmit_discards", "port_rcv_errors", "symbol_error", "link_downed", "link_error_recovery", "VL15_dropped"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_rcv_remote_physical_errors"),
    *("port_rcv_switch_relay_errors", "port_rcv_constraint_errors", "port_xmit_constraint_errors"),
    *("unicast_rcv_packets", "unicast_xmit_packets", "multicast_rcv_packets", "multicast_xmit_packets"),
)
INTEL = Machine(
    name="intel",
    packages=2,
    cores=56,
    nodes=2,
    cpuinfo=_X86_INFO.format(
        vendor="GenuineIntel",
        family=6,
        model=143,
        name="Intel(R) Xeon(R) Platinum 8480C",
        stepping=8,
        microcode="0x2b000603",
        cores=56,
    ),
    idle_states=("POLL", "C1", "C1E", "C6"),
    arch_vectors=_X86_VECTORS,
    error_vectors=("ERR", "MIS"),
    msi="IR-PCI-MSIX-{address} {number:>4}-edge      ",
    chips=(
        Chip(
            "coretemp",
            "/sys/devices/platform/coretemp.{}",
            {"temp1_label": "Package id {}", "temp1_input": "54000", "temp2_label": "Core 0", "temp2_input": "51000"},
        ),
    ),
    energy_parts=("dram",),
    has_energy=True,
    throttles=True,
    memory_controllers=4,
    adapter_counters=_IB_COUNTERS,
)
AMD = Machine(
    name="amd",
    packages=2,
    cores=96,
    nodes=8,  # four a socket, as firmware can be set to
    cpuinfo=_X86_INFO.format(
        vendor="AuthenticAMD",
        family=25,
        model=17,
        name="AMD EPYC 9654 96-Core Processor",
        stepping=1,
        microcode="0xa101148",
        cores=96,
    ),
    idle_states=("POLL", "C1", "C2"),
    arch_vectors=_X86_VECTORS,
    error_vectors=("ERR", "MIS"),
    msi="IR-PCI-MSIX-{address} {number:>4}-edge      ",
    chips=(
        Chip(
            "k10temp",
            "/sys/devices/pci0000:00/0000:0{}:18.3",
            {"temp1_label": "Tctl", "temp1_input": "48250", "temp3_label": "Tccd1", "temp3_input": "45500"},
        ),
    ),
    energy_parts=("core",),
    has_energy=True,
    memory_controllers=1,
    infiniband=False,
    adapter_counters=_IB_COUNTERS[:14],
)
GRACE = Machine(
    name="grace",
    packages=2,
    cores=72,
    nodes=2,
    cpuinfo=_ARM_INFO,
    idle_states=("LPI-0",),
    arch_vectors=_ARM_VECTORS,
    error_vectors=("Err",),
    msi="ITS-PCI-MSIX-{address} {number:>4} Edge      ",
    chips=(Chip("power_meter", "/sys/devices/LNXSYSTM:00/ACPI000D:0{}", {"power1_average": "181250000"}),),
    hugepages_kib=(2048, 524288, 16777216),
    page_bytes=65536,
    memory_controllers=1,
    memory_nodes=4,
    gpus=4,
    adapters=4,
    adapter_counters=_IB_COUNTERS,
)
MACHINES = {machine.name: machine for machine in (INTEL, AMD, GRACE)}
