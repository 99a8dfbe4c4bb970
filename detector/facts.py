"""What a host is, for people: from the constants that its exporter tells and the levels in a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from catalog import FAMILIES
from catalog.families import cgroup, cpu, exporter, gpu, host, memory, network, rdma, storage
from catalog.family import Kind
from catalog.series import Series, parse_series
from detector.frame import Frame
from detector.readable import quantity

CONSTANTS: tuple[str, ...] = tuple(family.name for family in FAMILIES.values() if family.kind is Kind.INFO)
"""The families whose labels say what a host is."""
_SHOWN = 8


def constants_in(exposition: str) -> list[Series]:
    """The constants of a text exposition; what is no series is passed over."""
    found = []
    for line in exposition.splitlines():
        if line.startswith(CONSTANTS):
            try:
                found.append(parse_series(line.rpartition(" ")[0]))
            except ValueError:
                continue
    return found


def facts_of(constants: Sequence[Series], frame: Frame) -> dict[str, str]:
    """What is known of a host, by what it is about; what is not known is left out."""
    told = {
        "system": _system(constants),
        "CPUs": _cpus(constants),
        "NUMA": _numa(constants, frame),
        "interrupts": "".join(map(_affinity, _of(constants, cpu.INTERRUPT_AFFINITY_INFO.name))),
        "memory": _memory(frame),
        "huge pages": _huge_pages(frame),
        "GPUs": _gpus(constants),
        "network": _listed(_networks(constants, frame)),
        "RDMA": _listed(_named(one, "device", "board", "fw") for one in _of(constants, rdma.RDMA_INFO.name)),
        "storage": _listed(
            _named(one, "device", "model", "scheduler") for one in _of(constants, storage.DEVICE_INFO.name)
        ),
        "limits": _listed(map(_limits, _of(constants, cgroup.CGROUP_LIMIT_INFO.name))),
        "exporter": _listed(_named(one, "version") for one in _of(constants, exporter.BUILD_INFO.name)),
    }
    return {about: text for about, text in told.items() if text}


def _of(constants: Iterable[Series], name: str) -> list[Series]:
    return [one for one in constants if one.name == name]


def _named(series: Series, first: str, *others: str) -> str:
    more = ", ".join(filter(None, (series.label(label) for label in others)))
    return f"{series.label(first)} ({more})" if more else series.label(first)


def _listed(texts: Iterable[str]) -> str:
    texts = list(texts)
    return "; ".join(texts[:_SHOWN]) + (f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


def _counted(texts: Iterable[str]) -> str:
    return "; ".join(f"{count} × {text}" for text, count in Counter(texts).items())


def _system(constants: Iterable[Series]) -> str:
    parts = [
        one.label(label)
        for one in _of(constants, host.INFO.name)
        for label in ("os", "kernel", "vendor", "product", "bios", "hypervisor")
    ]
    return ", ".join(filter(None, parts))


def _cpus(constants: Sequence[Series]) -> str:
    packages = _counted(_named(one, "model_name", "microcode") for one in _of(constants, cpu.INFO.name))
    threads = len(_of(constants, cpu.TOPOLOGY_INFO.name))
    return ", ".join(filter(None, (packages, f"{threads} CPUs" if threads else "")))


def _numa(constants: Iterable[Series], frame: Frame) -> str:
    nodes = {one.label("node") for one in _of(constants, cpu.TOPOLOGY_INFO.name)}
    nodes |= {one.label("node") for one in frame.columns if one.name.startswith("hostpulse_memory_")}
    nodes -= {"", "all"}
    return f"{len(nodes)} node{'s' * (len(nodes) != 1)}" if nodes else ""


def _affinity(series: Series) -> str:
    count, bound, cpu_number, served = (series.label(name) for name in ("interrupts", "bound", "busiest", "on_busiest"))
    return f"{count}, of which {bound} are bound to one CPU; CPU {cpu_number} serves {served} of them"


def _limits(series: Series) -> str:
    parts = [f"{name} {series.label(name)}" for name in ("cpu_max", "memory_high", "memory_max") if series.label(name)]
    return f"{series.label('cgroup')} ({', '.join(parts)})"


def _memory(frame: Frame) -> str:
    return "".join(quantity(value, "B") for _, value in _newest(frame, memory.TOTAL_BYTES.name))


def _huge_pages(frame: Frame) -> str:
    pools: dict[str, dict[str, float]] = {}
    for series, value in _newest(frame, memory.HUGEPAGES.name):
        states = pools.setdefault(series.label("size"), {})
        states[series.label("state")] = states.get(series.label("state"), 0.0) + value
    return "; ".join(
        f"{size}: {states['total']:.0f}, {states.get('free', 0.0):.0f} free"
        for size, states in pools.items()
        if states.get("total")
    )


def _gpus(constants: Iterable[Series]) -> str:
    infos = _of(constants, gpu.INFO.name)
    drivers = {f"driver {one.label('driver_version')}, CUDA {one.label('cuda_version')}" for one in infos}
    return "; ".join(filter(None, (_counted(one.label("name") for one in infos), *sorted(drivers))))


def _networks(constants: Iterable[Series], frame: Frame) -> Iterator[str]:
    drivers = {one.label("device"): one.label("driver") for one in _of(constants, network.INFO.name)}
    speeds = {
        series.label("device"): f"{value * 8 / 1e9:g} Gb/s"
        for series, value in _newest(frame, network.SPEED_BYTES_PER_SECOND.name)
        if value > 0
    }
    for device in dict.fromkeys((*drivers, *speeds)):
        more = ", ".join(filter(None, (drivers.get(device, ""), speeds.get(device, ""))))
        yield f"{device} ({more})" if more else device


def _newest(frame: Frame, name: str) -> Iterator[tuple[Series, float]]:
    """The newest value of each series of a family that has one."""
    for column, series in enumerate(frame.columns):
        if series.name == name:
            values = frame.values[:, column]
            known = values[np.isfinite(values)]
            if len(known):
                yield series, float(known[-1])
