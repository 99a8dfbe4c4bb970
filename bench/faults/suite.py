"""The faults: how each is put in, and what a detector should say of it. The controls, and the outages that are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.faults.groups import Limits
from bench.faults.injections import Dropped, HugePages, Injection, Stress, Swapping, Switched
from catalog.families import cgroup, cpu, gpuhealth, host, memory, network, storage
from catalog.family import Family

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Fault:
    """``subsystems`` are those that are right to blame, one of ``signatures`` is the diagnosis that should come first.

    It raises ``moves``: of that family the series that have a label whose value begins with ``label``.
    """

    injection: Injection
    subsystems: frozenset[str]
    signatures: frozenset[str]
    moves: Family
    label: str = ""

    @property
    def control(self) -> str:
        """Which of ``CONTROLS`` shows that its tool is not what is found."""
        return self.injection.tool


def _fault(injection: Injection, subsystems: str, signatures: str, moves: Family, label: str = "") -> Fault:
    return Fault(injection, frozenset(subsystems.split()), frozenset(signatures.split()), moves, label)


FAULTS: Mapping[str, Fault] = {
    "cpu": _fault(Stress(("--cpu", "4")), "cpu", "cpu-saturation", host.PROCS_RUNNING),
    "memory": _fault(Stress(("--vm", "2", "--vm-bytes", "2G")), "memory", "allocation-churn", memory.ANON_BYTES),
    "switches": _fault(
        Stress(("--switch", "1", "--switch-freq", "100000")), "cpu", "wakeup-storm", host.CONTEXT_SWITCHES
    ),
    "forks": _fault(Stress(("--fork", "2")), "cpu", "fork-storm", host.FORKS),
    "timers": _fault(Stress(("--timer", "2", "--timer-freq", "50000")), "cpu", "wakeup-storm", cpu.INTERRUPTS),
    "datagrams": _fault(Stress(("--udp", "4")), "network cpu", "packet-flood", cpu.SOFTIRQS, "NET_RX"),
    "disk": _fault(
        Stress(("--hdd", "2", "--hdd-bytes", "256M", "--temp-path", "{folder}")),
        "storage",
        "disk-saturation",
        storage.WRITTEN_BYTES,
    ),
    "writer": _fault(Switched("write"), "storage", "writeback-stall disk-saturation", storage.WRITE_TIME_SECONDS),
    "cpu_limit": _fault(
        Switched("burn", Limits(cpu_cores=0.1)),
        "cpu",
        "cgroup-cpu-throttling",
        cgroup.CGROUP_THROTTLED_SECONDS,
        "hostpulse-burn",
    ),
    "memory_limit": _fault(
        Switched("hog", Limits(memory_bytes=128 * _MB)), "memory", "cgroup-memory-limit", memory.OOM_KILLS
    ),
    "leak": _fault(Switched("leak"), "memory", "memory-leak", memory.ANON_BYTES),
    "swap": _fault(
        Swapping("swap", Limits(memory_bytes=64 * _MB, may_swap=True)), "memory", "swap-storm", memory.SWAPPED_OUT_PAGES
    ),
    "page_cache": _fault(
        Switched("thrash", Limits(memory_bytes=64 * _MB)),
        "memory storage",
        "page-cache-thrash cgroup-memory-limit",
        memory.WORKINGSET_REFAULTS,
        "file",
    ),
    "full_tmpfs": _fault(
        Switched("fill", in_memory=True), "storage memory", "tmpfs-growth filesystem-full", memory.SHMEM_BYTES
    ),
    "huge_pages": _fault(HugePages(1024), "memory", "huge-pages", memory.HUGEPAGES, "total"),
    "packet_loss": _fault(
        Dropped("numgen random mod 100 < 2"), "network", "packet-loss", network.TCP_RETRANSMITTED_SEGMENTS
    ),
    "rate_limit": _fault(
        Dropped("limit rate over 1 mbytes/second"), "network", "packet-loss", network.TCP_RETRANSMITTED_SEGMENTS
    ),
    "xid": _fault(Switched("xid"), "gpu", "gpu-xid-application", gpuhealth.XID_ERRORS, "31"),
}
CONTROLS: Mapping[str, Injection] = {
    # The tool without its load. Its --sleep will not do: 256 threads that spin on all CPUs for seconds.
    "stress-ng": Stress(("--cpu", "1", "--cpu-load", "0")),
    "resident": Switched("nothing"),
    "packets": Dropped("numgen random mod 100 < 0"),
}
OUTAGES = ("exporter", "store")
LOADS: Mapping[str, str] = {"idle": "nothing", "training": "train", "copying": "copy"}  # load -> resident work
