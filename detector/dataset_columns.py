"""What the columns of the Reveal data set mean in the catalog's families; arXiv 2510.26008 describes how it was made.

A column is called ``{Collector}:{metric}[.{instance}].{host}[{unit}]``. Everything was noted every 100 ms, most of it
as what happened since the row before. What follows from other columns (IPC, which is a ratio on hosts of one kind and a
percentage on the other, utilisations that are means) is left to the catalog's signals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from catalog import FAMILIES
from catalog.families import cpu, gpu, gpuhealth, host, network, perf, storage
from catalog.family import Family, Kind
from catalog.series import Series

_COLUMN = re.compile(r"(?:(?P<collector>\w+): ?)?(?P<body>[^\[\]]+?)(?:\[(?P<unit>[^\]]*)\])?")
_WITH_INSTANCE = ("Turbostat", "GPU", "NetworkInterStat")
_KIB, _MIB, _SECTOR_BYTES = 1024.0, 1048576.0, 512.0
_PERCENT, _MHZ, _MS = 0.01, 1e6, 0.001
_ALL = "all"  # what was noted of all CPUs or disks together
_WHOLE_NODE = "-"


class How(Enum):
    """How a column becomes a family."""

    LEVEL = "the value itself: of a gauge, or of a counter as the kernel counts"
    COUNT = "what happened since the row before: the counter is the sum"
    SHARE = "a mean since the row before: the counter is the sum of it times the time"
    CHANGE = "by how much a gauge changed: the level is the sum, from its lowest value on"


@dataclass(frozen=True, slots=True)
class Name:
    """A column's name taken apart: ``instance`` is a CPU, GPU or device, ``change`` whether it says ``_diff``."""

    collector: str
    metric: str
    instance: str
    host: str
    change: bool


@dataclass(frozen=True, slots=True)
class Meaning:
    """The series that a column is: ``factor`` times the value plus ``offset``, times that of the metric ``times``."""

    series: Series
    how: How
    factor: float = 1.0
    offset: float = 0.0
    times: str = ""


def parse_name(text: str) -> Name | None:
    """The parts of a column's name; None for what is not of this grammar.

    >>> parse_name("Turbostat:Busy%.12.node7[%]")
    Name(collector='Turbostat', metric='Busy%', instance='12', host='node7', change=False)
    """
    match = _COLUMN.fullmatch(text.strip())
    if match is None or "." not in match["body"]:
        return None
    collector = (match["collector"] or "").removesuffix("_diff")
    metric, _, machine = match["body"].rpartition(".")
    instance = ""
    if collector in _WITH_INSTANCE:
        metric, _, instance = metric.rpartition(".")
    return Name(collector, metric, instance, machine, (match["collector"] or "").endswith("_diff"))


def meaning(name: Name) -> Meaning | None:
    """What a column means; None where no family is that."""
    find = _COLLECTORS.get(name.collector)
    return None if find is None else find(name)


def _perf(name: Name) -> Meaning | None:
    family = _EVENTS.get(name.metric)
    return None if family is None else Meaning(family(_ALL), How.COUNT)


def _memory(name: Name) -> Meaning | None:
    field = name.metric.replace("(", "_").replace(")", "")
    family = _ELSEWHERE.get(f"node_memory_{field}_bytes")
    if family is None or family.labels:
        return None
    return Meaning(family(), How.CHANGE if name.change else How.LEVEL, _KIB)


def _turbostat(name: Name) -> Meaning | None:
    if name.instance == _WHOLE_NODE:
        whole = name.metric == "CoreTmp"
        return Meaning(host.HWMON_TEMPERATURE_CELSIUS("turbostat", "core", ""), How.LEVEL) if whole else None
    if name.metric in _POWER:
        return Meaning(host.RAPL_ENERGY_JOULES(_POWER[name.metric], name.instance), How.SHARE)
    if residency := re.fullmatch(r"(?:CPU%)?(c\d+|C\d+|POLL)%?", name.metric):
        state, counted = residency[1].upper(), name.metric == residency[1]
        if counted:
            return Meaning(cpu.IDLE_STATE_ENTRIES(name.instance, state), How.COUNT)
        return Meaning(cpu.IDLE_STATE_SECONDS(name.instance, state), How.SHARE, _PERCENT)
    match name.metric:
        case "Avg_MHz":
            return Meaning(perf.APERF_CYCLES(name.instance), How.SHARE, _MHZ)
        case "TSC_MHz":
            return Meaning(perf.TSC_CYCLES(name.instance), How.SHARE, _MHZ)
        case "Busy%":
            return Meaning(perf.MPERF_CYCLES(name.instance), How.SHARE, _PERCENT * _MHZ, times="TSC_MHz")
        case "IRQ":
            return Meaning(cpu.INTERRUPTS(name.instance), How.COUNT)
        case "SMI":
            return Meaning(perf.SMI(name.instance), How.COUNT)
    return None


def _cpu(name: Name) -> Meaning | None:
    match = re.fullmatch(r"CPU(\d+)Utilization", name.metric)
    return None if match is None else Meaning(cpu.SECONDS(match[1], "idle"), How.SHARE, -_PERCENT, 1.0)


def _storage(name: Name) -> Meaning | None:
    found = _DISK.get(re.sub(r"_\(ms\)$|_successfully", "", name.metric).replace("/", "").lower())
    if found is None:
        return None
    family, factor = found
    changed = How.CHANGE if family.kind is Kind.GAUGE else How.COUNT
    how = changed if name.change else How.LEVEL
    return Meaning(family(_ALL), how, factor)


def _gpu(name: Name) -> Meaning | None:
    if ecc := re.fullmatch(r"ecc\.errors\.(corrected|uncorrected)\.(volatile|aggregate)\.(\w+)", name.metric):
        family = gpuhealth.ECC_ERRORS if ecc[2] == "volatile" else gpuhealth.ECC_ERRORS_AGGREGATE
        return Meaning(family(name.instance, ecc[1], ecc[3]), How.LEVEL)
    if name.metric not in _GPU:
        return None
    family, factor, *more = _GPU[name.metric]
    return Meaning(family(name.instance, *more), How.LEVEL, factor)


def _interface(name: Name) -> Meaning | None:
    side, _, what = name.metric.partition("_")
    family = _ELSEWHERE.get(f"node_network_{ {'rx': 'receive', 'tx': 'transmit'}.get(side) }_{what}_total")
    return None if family is None else Meaning(family(name.instance), How.COUNT)


def _fixed(table: Mapping[str, Family], how: How) -> dict[str, Meaning]:
    return {metric: Meaning(family(), how) for metric, family in table.items()}


_EVENTS: Mapping[str, Family] = {
    "Branches": perf.BRANCH_INSTRUCTIONS,
    "Branch_Misses": perf.BRANCH_MISSES,
    "Cache_Misses": perf.CACHE_MISSES,
    "Cache_References": perf.CACHE_REFERENCES,
    "Cycles": perf.CYCLES,
    "Instructions": perf.INSTRUCTIONS,
}
_POWER = {"PkgWatt": "package", "RAMWatt": "dram"}
_DISK: Mapping[str, tuple[Family, float]] = {
    "reads_completed": (storage.READS_COMPLETED, 1.0),
    "reads_merged": (storage.READS_MERGED, 1.0),
    "sectors_read": (storage.READ_BYTES, _SECTOR_BYTES),
    "time_spent_reading": (storage.READ_TIME_SECONDS, _MS),
    "writes_completed": (storage.WRITES_COMPLETED, 1.0),
    "writes_merged": (storage.WRITES_MERGED, 1.0),
    "sectors_written": (storage.WRITTEN_BYTES, _SECTOR_BYTES),
    "time_spent_writing": (storage.WRITE_TIME_SECONDS, _MS),
    "ios_currently_in_progress": (storage.IO_NOW, 1.0),
    "time_spent_doing_ios": (storage.IO_TIME_SECONDS, _MS),
    "weighted_time_spent_doing_ios": (storage.IO_TIME_WEIGHTED_SECONDS, _MS),
    "discards_completed": (storage.DISCARDS_COMPLETED, 1.0),
    "discards_merged": (storage.DISCARDS_MERGED, 1.0),
    "sectors_discarded": (storage.DISCARDED_BYTES, _SECTOR_BYTES),
    "time_spent_discarding": (storage.DISCARD_TIME_SECONDS, _MS),
    "flush_requests_completed": (storage.FLUSHES_COMPLETED, 1.0),
    "time_spent_flushing": (storage.FLUSH_TIME_SECONDS, _MS),
}
_GPU: Mapping[str, tuple[Family, float, *tuple[str, ...]]] = {
    "utilization.gpu": (gpu.UTILIZATION_RATIO, _PERCENT),
    "utilization.memory": (gpu.MEMORY_UTILIZATION_RATIO, _PERCENT),
    "utilization.encoder": (gpu.ENCODER_UTILIZATION_RATIO, _PERCENT),
    "utilization.decoder": (gpu.DECODER_UTILIZATION_RATIO, _PERCENT),
    "utilization.jpeg": (gpu.JPEG_UTILIZATION_RATIO, _PERCENT),
    "utilization.ofa": (gpu.OFA_UTILIZATION_RATIO, _PERCENT),
    "memory.used": (gpu.MEMORY_USED_BYTES, _MIB),
    "memory.free": (gpu.MEMORY_FREE_BYTES, _MIB),
    "memory.total": (gpu.MEMORY_TOTAL_BYTES, _MIB),
    "power.draw": (gpu.POWER_WATTS, 1.0),
    "power.draw.instant": (gpu.POWER_INSTANT_WATTS, 1.0),
    "temperature.gpu": (gpu.TEMPERATURE_CELSIUS, 1.0),
    "temperature.memory": (gpu.MEMORY_TEMPERATURE_CELSIUS, 1.0),
    "fan.speed": (gpu.FAN_SPEED_RATIO, _PERCENT, "0"),
    "clocks.current.sm": (gpu.CLOCK_HERTZ, _MHZ, "sm"),
    "clocks.current.memory": (gpu.CLOCK_HERTZ, _MHZ, "memory"),
    "clocks.max.sm": (gpu.CLOCK_MAX_HERTZ, _MHZ, "sm"),
    "clocks.max.memory": (gpu.CLOCK_MAX_HERTZ, _MHZ, "memory"),
}
_SOCKETS = _fixed({"TCP": network.TCP_SOCKETS_INUSE, "UDP": network.UDP_SOCKETS_INUSE}, How.LEVEL)
_RETRANSMITS = _fixed(
    {
        "TcpRetransSegs": network.TCP_RETRANSMITTED_SEGMENTS,
        "TcpExtTCPSynRetrans": network.TCP_SYN_RETRANSMITS,
        "TcpExtTCPLostRetransmit": network.TCP_LOST_RETRANSMITS,
    },
    How.COUNT,
)
_ELSEWHERE: Mapping[str, Family] = {alias.name: family for family in FAMILIES.values() for alias in family.aliases}
_COLLECTORS: Mapping[str, Callable[[Name], Meaning | None]] = {
    "Perf": _perf,
    "Memory": _memory,
    "Meminfo": _memory,
    "Turbostat": _turbostat,
    "CPU": _cpu,
    "Storage": _storage,
    "GPU": _gpu,
    "NetworkInterStat": _interface,
    "NetworkProtocolCounts": lambda name: _SOCKETS.get(name.metric),
    "NetworkTCPRetrans": lambda name: _RETRANSMITS.get(name.metric),
}
