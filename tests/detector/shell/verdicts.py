"""Verdicts for sinks and views to show."""

from __future__ import annotations

from typing import Any

import numpy as np

from catalog.families.exporter import PROCESS_CPU_SECONDS
from detector.frame import Frame
from detector.sink import Judged
from detector.source import Host
from detector.verdict import Cause, Phase, Verdict

HOST = Host("10.0.0.1:17720", "hostpulse")
END_S = 1_800_000_000.0

CAUSES = (
    Cause('storage_busy_ratio{device="vda"}', "mean", "storage", "ratio", 0.02, 0.97, 12.5),
    Cause("storage_written_bytes_per_second", "max", "storage", "B/s", 1e5, 3.2e8, 9.0, ("storage_writes_per_second",)),
    Cause("memory_available_ratio", "min", "memory", "ratio", 0.8, 0.75, -3.0),
)


def frame(end_s: float = END_S, cpu_s: float = 100.0) -> Frame:
    """Ten seconds of an exporter that takes 2 % of a core."""
    times_s = end_s + np.arange(-9.0, 1.0)
    values = cpu_s + 0.02 * (times_s - end_s)
    return Frame(HOST.instance, times_s, values[:, None], (PROCESS_CPU_SECONDS(),))


def judged(host: Host = HOST, end_s: float = END_S, **verdict: Any) -> Judged:
    """A quiet verdict, changed by ``verdict``."""
    fields: dict[str, Any] = {
        "phase": Phase.CALIBRATED,
        "score": 0.4,
        "p_value": 0.2,
        "detectors": {"deviation": 0.3, "forest": 0.2, "subspace": 0.5},
        "shares": {"cpu": 0.1, "gpu": 0.0, "memory": 0.2, "network": 0.1, "storage": 0.6},
        "causes": CAUSES,
        "coverage": 0.98,
        "progress": 1.0,
        "fitted_s": END_S - 600,
    }
    made = Verdict(host.instance, end_s, **(fields | verdict))
    return Judged(host, made, frame(end_s, end_s / 50), 3.0, 1.0, 0.06, end_s)


def learning(progress: float, end_s: float = END_S) -> Judged:
    """A verdict of a host without a model."""
    return Judged(
        HOST, Verdict(HOST.instance, end_s, Phase.LEARNING, progress=progress), frame(end_s), 3.0, 1.0, 0.06, end_s
    )


def alarm(end_s: float = END_S, **verdict: Any) -> Judged:
    """A verdict with an open episode that is blamed on storage."""
    fields: dict[str, Any] = {"score": 2.5, "active": True, "subsystem": "storage", "agreement": 3, "frozen": True}
    return judged(end_s=end_s, **(fields | {"onset_s": end_s - 12} | verdict))
