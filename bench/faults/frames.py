"""Two of the paper's cases that need hardware which is not here, as frames: NUMA placement and NCCL's queue pairs.

What moves and which way is as "Detecting Anomalies in Systems for AI Using Hardware Telemetry" (arXiv 2510.26008)
describes it; how far it moves is made up, as are the hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bench.detection.replay import learned
from bench.quiet.host import PROFILES, Recorder, SimulatedHost
from bench.quiet.series import Line, lines
from catalog.families import gpu, memory, perf, rdma
from catalog.family import Family
from detector.diagnosis.library import signatures
from detector.features import Features
from detector.frame import Frame
from detector.incidents.case import Case
from detector.incidents.incident import Incident
from detector.judge import Judge
from detector.pipeline import features_at, step
from detector.settings import TABLE
from detector.sink import Judged
from detector.source import Host
from detector.watch import judge_for

INTERVAL_S = 1.0
_LEARNED_S, _FAULT_S = 900, 40
_CPUS, _GPUS = 4, 2
_NOISE, _SEED = 0.05, 1

Factors = Mapping[Family, float]


def _steady(family: Family, labels: tuple[object, ...], size: float) -> Line:
    return Line(family(*labels), family, size, _NOISE, {})


def _of_numa() -> tuple[Line, ...]:
    """Two nodes whose threads have their memory near, and what the CPUs count of it."""
    of_nodes = (
        (memory.NUMA_HIT, 20_000.0), (memory.NUMA_MISS, 20.0), (memory.NUMA_FOREIGN, 20.0),
        (memory.NUMA_LOCAL, 20_000.0), (memory.NUMA_OTHER, 100.0),
    )  # fmt: skip
    of_cpus = (
        (perf.CYCLES, 2e9), (perf.INSTRUCTIONS, 2.4e9), (perf.STALLED_CYCLES_BACKEND, 4e8),
        (perf.NODE_LOADS, 2e6), (perf.NODE_LOAD_MISSES, 4e4),
    )  # fmt: skip
    nodes = tuple(_steady(family, (node,), size) for family, size in of_nodes for node in range(2))
    return nodes + tuple(_steady(family, (number,), size) for family, size in of_cpus for number in range(_CPUS))


def _of_ports() -> tuple[Line, ...]:
    """A port for each GPU, which are busy with a job that sends gradients."""
    of_ports = (
        (rdma.RDMA_TRANSMIT_BYTES, 6e9), (rdma.RDMA_RECEIVE_BYTES, 6e9), (rdma.RDMA_TRANSMIT_WAIT_TICKS, 2e4),
    )  # fmt: skip
    of_gpus = (
        (gpu.TENSOR_ACTIVE_RATIO, 0.5), (gpu.DRAM_ACTIVE_RATIO, 0.4), (gpu.POWER_WATTS, 620.0),
        (gpu.UTILIZATION_RATIO, 0.98),
    )  # fmt: skip
    ports = tuple(_steady(family, (f"mlx5_{port}", 1), size) for family, size in of_ports for port in range(_GPUS))
    return ports + tuple(_steady(family, (number,), size) for family, size in of_gpus for number in range(_GPUS))


@dataclass(frozen=True, slots=True)
class Described:
    """A case: the series it shows in, and what each family is multiplied by."""

    lines: tuple[Line, ...]
    factors: Factors


DESCRIBED: Mapping[str, Described] = {
    # Memory is far: more remote allocations and loads, CPUs that stall, fewer instructions in a cycle.
    "numa": Described(
        _of_numa(),
        {
            memory.NUMA_MISS: 200.0, memory.NUMA_FOREIGN: 200.0, memory.NUMA_OTHER: 80.0, memory.NUMA_LOCAL: 0.6,
            perf.NODE_LOAD_MISSES: 25.0, perf.INSTRUCTIONS: 0.7, perf.STALLED_CYCLES_BACKEND: 1.8,
        },
    ),
    # Too few queue pairs: less is sent though there is more to send, and GPUs wait in kernels that look busy.
    "nccl": Described(
        _of_ports(),
        {
            rdma.RDMA_TRANSMIT_BYTES: 0.25, rdma.RDMA_RECEIVE_BYTES: 0.25, rdma.RDMA_TRANSMIT_WAIT_TICKS: 30.0,
            gpu.TENSOR_ACTIVE_RATIO: 0.55, gpu.DRAM_ACTIVE_RATIO: 0.6, gpu.POWER_WATTS: 0.7,
        },
    ),
}  # fmt: skip


def incident_of(name: str) -> Incident | None:
    """The incident that the detector makes of a described case; None where it sees none."""
    described, judge_by = DESCRIBED[name], judge_for(TABLE(), INTERVAL_S)
    wide = lines(cpus=_CPUS, gpus=0) + described.lines
    host = SimulatedHost(wide, PROFILES[-1], _SEED, INTERVAL_S, 1.0)
    healthy = host.next(round(_LEARNED_S / INTERVAL_S))
    after = host.next(round(_FAULT_S / INTERVAL_S))
    factors = np.array([described.factors.get(line.family, 1.0) for line in wide])
    signals = replace(
        healthy,
        elapsed_s=np.concatenate([healthy.elapsed_s, after.elapsed_s]),
        values=np.concatenate([healthy.values, after.values * factors]),
        noise=np.concatenate([healthy.noise, after.noise]),
    )
    frame = Recorder(name, wide, INTERVAL_S).frame(signals)
    return _judged(frame, judge_by)


def _judged(frame: Frame, judge_by: Judge) -> Incident | None:
    """What the pipeline says from the end of what it learned on, as an incident."""
    first_s = float(frame.times_s[0]) + np.ceil(judge_by.lookback_s)
    ends_s = np.arange(first_s, float(frame.times_s[-1]) + 0.5, judge_by.stride_s)
    count = int((ends_s <= frame.times_s[0] + _LEARNED_S).sum())
    windows = features_at(frame, ends_s[:count], judge_by)
    state = replace(learned(Features(windows.end_s, windows.x, windows.features), judge_by), instance=frame.instance)
    host, incident = Host(frame.instance, "described"), None
    case = Case(host, tuple(signatures().values()))
    for end_s in ends_s[count:]:
        first, last = frame.times_s.searchsorted((end_s - judge_by.lookback_s, end_s), side="right")
        part = Frame(frame.instance, frame.times_s[first:last], frame.values[first:last], frame.columns)
        state, verdict = step(part, state, float(end_s), judge_by)
        judged = Judged(host, verdict, part, judge_by.window_s, judge_by.stride_s, 0.0, float(end_s))
        incident = case.take(judged) or incident
    return incident
