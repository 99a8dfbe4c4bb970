"""All parts of the bench by name, in the order of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bench.paper import anomalies, cost, metrics
from bench.paper.bench import Bench, Part
from bench.paper.row import Row

_CASES = ("NUMA placement", "NCCL queue pairs", "interrupts on one CPU", "1 GiB huge pages", "packet loss")


def cases(bench: Bench) -> list[Row]:
    """The paper's five cases, which are not measured here."""
    del bench
    return [
        Row(f"case_{number}", f"case: {name}", "found", math.nan, note="`python -m bench.faults.cases` measures it")
        for number, name in enumerate(_CASES, 1)
    ]


PARTS: Mapping[str, Part] = {
    "cpu": cost.collector_cpu,
    "storage": cost.stored,
    "metrics": metrics.counted,
    "kept": metrics.kept,
    "latency": cost.time_to_a_score,
    "agreement": anomalies.agreed,
    "stability": anomalies.stable,
    "patterns": anomalies.patterns,
    "portability": metrics.portable,
    "cases": cases,
}
