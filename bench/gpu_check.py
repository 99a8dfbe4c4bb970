"""The exporter's GPU values next to nvidia-smi's on real hardware, what a look costs, and how much it slows a job down.

    python -m bench.gpu_check --json

nvidia-smi is asked between two looks of ours, and agrees where its value lies between theirs. The exit status is 2 on a
machine without NVIDIA's driver, 1 where a value never agreed.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from io import StringIO
from math import isnan
from pathlib import Path
from statistics import median
from typing import Any

from bench.arguments import DAY_S, within
from catalog.families import gpu, gpuhealth
from catalog.family import Family, Profile
from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable, discover
from exporter.host import Host
from tests.servers.programs import start_exporter

_COLLECTORS = ("gpu", "gpuhealth", "gpugpm", "gpumig", "gpumiggpm", "gpumode", "xid")
_MIB, _MHZ, _PERCENT = 1048576.0, 1e6, 0.01
_WORDS: Mapping[str, float] = {
    **dict.fromkeys(("Not Active", "No", "Disabled", "None"), 0.0),
    **dict.fromkeys(("Active", "Yes", "Enabled", "Not Started", "Reset", "GPU Reset"), 1.0),
    **dict.fromkeys(("In Progress", "Reboot", "Node Reboot"), 2.0),
    **dict.fromkeys(("Completed", "Drain P2P"), 3.0),
    "Drain and Reset": 4.0,
}
_LACKING = re.compile(r"\[.*\]|N/A|Not Supported|Requested functionality has been deprecated|")
_EVENTS = ("sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_INTERVALS = ("1s", "100ms")


@dataclass(frozen=True, slots=True)
class Twin:
    """The same quantity in nvidia-smi: a field, what of ours it is, how many of ours one of its units is.

    ``slack`` is how far apart, in its units, two right values may be: it rounds, and gauges move within a look.
    ``lacking`` is the value of ours of which nvidia-smi says that there is none.
    """

    field: str
    family: Family
    labels: tuple[str, ...] = ()
    unit: float = 1.0
    slack: float = 1.0
    lacking: float | None = None


def _twins() -> Iterator[Twin]:
    yield from (
        Twin("utilization.gpu", gpu.UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("utilization.memory", gpu.MEMORY_UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("utilization.encoder", gpu.ENCODER_UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("utilization.decoder", gpu.DECODER_UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("utilization.jpeg", gpu.JPEG_UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("utilization.ofa", gpu.OFA_UTILIZATION_RATIO, (), _PERCENT, 5),
        Twin("memory.total", gpu.MEMORY_TOTAL_BYTES, (), _MIB),
        Twin("memory.reserved", gpu.MEMORY_RESERVED_BYTES, (), _MIB),
        Twin("memory.used", gpu.MEMORY_USED_BYTES, (), _MIB),
        Twin("memory.free", gpu.MEMORY_FREE_BYTES, (), _MIB),
        Twin("power.draw", gpu.POWER_WATTS, (), 1.0, 5),
        Twin("power.draw.instant", gpu.POWER_INSTANT_WATTS, (), 1.0, 30),
        Twin("enforced.power.limit", gpu.POWER_LIMIT_WATTS, ("current",)),
        Twin("power.limit", gpu.POWER_LIMIT_WATTS, ("requested",)),
        Twin("power.default_limit", gpu.POWER_LIMIT_WATTS, ("default",)),
        Twin("power.min_limit", gpu.POWER_LIMIT_WATTS, ("min",)),
        Twin("power.max_limit", gpu.POWER_LIMIT_WATTS, ("max",)),
        Twin("temperature.gpu", gpu.TEMPERATURE_CELSIUS),
        Twin("temperature.memory", gpu.MEMORY_TEMPERATURE_CELSIUS),
        Twin("temperature.gpu.tlimit", gpu.TEMPERATURE_MARGIN_CELSIUS),
        Twin("fan.speed", gpu.FAN_SPEED_RATIO, ("0",), _PERCENT),
        Twin("pstate", gpu.PERFORMANCE_STATE, (), 1.0, 0),
        Twin("pcie.link.gen.current", gpuhealth.PCIE_LINK_GENERATION, ("current",), 1.0, 0),
        Twin("pcie.link.gen.max", gpuhealth.PCIE_LINK_GENERATION, ("max",), 1.0, 0),
        Twin("pcie.link.width.current", gpuhealth.PCIE_LINK_WIDTH, ("current",), 1.0, 0),
        Twin("pcie.link.width.max", gpuhealth.PCIE_LINK_WIDTH, ("max",), 1.0, 0),
        Twin("remapped_rows.correctable", gpuhealth.REMAPPED_ROWS, ("corrected",), 1.0, 0),
        Twin("remapped_rows.uncorrectable", gpuhealth.REMAPPED_ROWS, ("uncorrected",), 1.0, 0),
        Twin("remapped_rows.pending", gpuhealth.REMAPPED_ROWS_PENDING, (), 1.0, 0),
        Twin("remapped_rows.failure", gpuhealth.ROW_REMAP_FAILURE, (), 1.0, 0),
        Twin("gpu_recovery_action", gpuhealth.RECOVERY_ACTION, (), 1.0, 0),
        Twin("fabric.state", gpuhealth.FABRIC_STATE, (), 1.0, 0, lacking=0.0),
    )
    for field, domain in (("graphics", "graphics"), ("sm", "sm"), ("memory", "memory"), ("video", "video")):
        yield Twin(f"clocks.current.{field}", gpu.CLOCK_HERTZ, (domain,), _MHZ, 50)
        yield Twin(f"clocks.max.{field}", gpu.CLOCK_MAX_HERTZ, (domain,), _MHZ, 0)
    for reason in _EVENTS:
        yield Twin(f"clocks_event_reasons.{reason}", gpu.CLOCK_EVENT_ACTIVE, (reason,), 1.0, 0)
        yield Twin(f"clocks_event_reasons_counters.{reason}", gpu.CLOCK_EVENT_SECONDS, (reason,), 1e-6, 1000)
    for reason in ("gpu_idle", "applications_clocks_setting", "hw_slowdown"):
        yield Twin(f"clocks_event_reasons.{reason}", gpu.CLOCK_EVENT_ACTIVE, (reason,), 1.0, 0)
    for severity in ("corrected", "uncorrected"):
        for location in ("total", "sram", "dram"):
            for field, family in (("volatile", gpuhealth.ECC_ERRORS), ("aggregate", gpuhealth.ECC_ERRORS_AGGREGATE)):
                yield Twin(f"ecc.errors.{severity}.{field}.{location}", family, (severity, location), 1.0, 0)
    for left in ("max", "high", "partial", "low", "none"):
        yield Twin(f"remapped_rows.histogram.{left}", gpuhealth.ROW_REMAP_BANKS, (left,), 1.0, 0)


def number(text: str) -> float | None:
    """What nvidia-smi says as a number, in its unit; None for what the GPU does not have or does not tell now.

    >>> [number(text) for text in ("631.95 W", "P8", "Not Active", "[N/A]", "[GPU requires reset]", "0x5")]
    [631.95, 8.0, 0.0, None, None, 5.0]
    """
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if _LACKING.fullmatch(text):
        return None
    if found := re.fullmatch(r"P(\d+)|(0x[0-9A-Fa-f]+)|(-?[\d.]+)( .*)?", text):
        return float(found[1] or found[3]) if not found[2] else float(int(found[2], 16))
    raise ValueError(f"nvidia-smi says {text!r}, which is no number")


def _asked(twins: Sequence[Twin]) -> list[dict[str, str]]:
    """What nvidia-smi says of each GPU, by field; fields that this version does not know are left out."""
    known = re.findall(r'"([\w.]+)"', _smi("--help-query-gpu"))
    fields = ["index", *(twin.field for twin in twins if twin.field in known)]
    rows = csv.reader(StringIO(_smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader")), skipinitialspace=True)
    return [dict(zip(fields, row, strict=True)) for row in rows]


def _smi(*arguments: str) -> str:
    return subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def _look(collectors: Sequence[Collector]) -> dict[Series, float]:
    found: dict[Series, float] = {}
    for collector in collectors:
        values = collector.read()
        found |= zip(collector.series, values, strict=True)
    return found


def differences(
    before: Mapping[Series, float], theirs: Sequence[Mapping[str, str]], after: Mapping[Series, float]
) -> dict[str, str]:
    """By field and GPU, how the values differ; empty for those that agree, and for what neither of them has."""
    found = {}
    for row in theirs:
        for twin in _twins():
            if twin.field not in row:
                continue
            series = twin.family(row["index"], *twin.labels)
            ours = [value for value in (before.get(series), after.get(series)) if value is not None]
            found[f"{twin.field} of GPU {row['index']}"] = _difference(ours, row[twin.field], twin)
    return found


def _difference(ours: list[float], said: str, twin: Twin) -> str:
    try:
        theirs = number(said)
    except ValueError as error:
        return f"ours {ours or 'none'}, {error}"
    if theirs is None:
        none = all(isnan(value) or value == twin.lacking for value in ours)
        return "" if none else f"ours {ours}, nvidia-smi has none"
    slack = twin.slack * twin.unit * 1.0000001
    agree = bool(ours) and min(ours) - slack <= theirs * twin.unit <= max(ours) + slack
    return "" if agree else f"ours {ours or 'none'}, nvidia-smi {theirs * twin.unit:g}"


def parity(collectors: Sequence[Collector], looks: int) -> dict[str, str]:
    """Differences that every look had."""
    twins = tuple(_twins())
    found = [differences(_look(collectors), _asked(twins), _look(collectors)) for _ in range(looks)]
    return {field: said if all(look[field] for look in found) else "" for field, said in found[0].items()}


def cost(collector: Collector, polls: int) -> dict[str, float]:
    """Wall and CPU milliseconds of one poll, as the median and the mean of so many."""
    wall_s, started_cpu_s = [], time.thread_time()
    for _ in range(polls):
        started_s = time.perf_counter()
        collector.read()
        wall_s.append(time.perf_counter() - started_s)
    cpu_s = (time.thread_time() - started_cpu_s) / polls
    return {"wall_ms": round(1000 * median(wall_s), 3), "cpu_ms": round(1000 * cpu_s, 3)}


def slowdown(seconds: float, rounds: int, folder: Path) -> dict[str, float] | str:
    """By how many percent matrices multiply slower while an exporter looks at the GPUs; why not, without torch."""
    if importlib.util.find_spec("torch") is None:
        return "skipped: torch is not installed"
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return "skipped: torch finds no GPU"
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)

    def products_per_s() -> float:
        ends_s, done, started_s = time.monotonic() + seconds, 0, time.monotonic()
        while time.monotonic() < ends_s:
            for _ in range(20):
                matrix @ matrix
            torch.cuda.synchronize()
            done += 20
        return done / (time.monotonic() - started_s)

    products_per_s()  # warms up
    alone: list[float] = []
    polled: dict[str, list[float]] = {interval: [] for interval in _INTERVALS}
    for turn in range(rounds):
        alone.append(products_per_s())
        for interval, rates in polled.items():
            place = folder / f"{interval}-{turn}"
            place.mkdir()
            with start_exporter(place, "--profile=full", f"--gpu.interval={interval}"):
                rates.append(products_per_s())
    return {
        interval: round(100 * median(1 - rate / free for rate, free in zip(rates, alone, strict=True)), 2)
        for interval, rates in polled.items()
    }


def _opened(stack: ExitStack) -> list[Collector]:
    kinds, found = discover(), list[Collector]()
    for name in _COLLECTORS:
        collector = kinds[name](Context(Host(), Profile.FULL))
        found.append(stack.enter_context(closing(collector)))
    return found


def measure(collectors: Sequence[Collector], arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    values = _look(collectors)
    compared = parity(collectors, arguments.looks)
    with tempfile.TemporaryDirectory(prefix="hostpulse-bench-") as folder:
        slower = slowdown(arguments.seconds, arguments.rounds, Path(folder))
    return {
        "gpus": sum(series.name == gpu.UP.name for series in values),
        "values": len(values),
        "compared": len(compared),
        "different": {field: said for field, said in compared.items() if said},
        "cost": {collector.name: cost(collector, arguments.polls) for collector in collectors},
        "slowdown_percent": slower,
        "families_seen": sorted({series.name for series, value in values.items() if not isnan(value)}),
    }


def _table(figures: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'GPUs':<28} {figures['gpus']:>10}"
    yield f"{'values':<28} {figures['values']:>10}"
    yield f"{'compared with nvidia-smi':<28} {figures['compared']:>10}"
    yield f"{'different':<28} {len(figures['different']):>10}"
    yield from (f"  {field}: {said}" for field, said in figures["different"].items())
    for name, costs in figures["cost"].items():
        yield f"{f'ms a poll of {name}':<28} {costs['wall_ms']:>10} (CPU {costs['cpu_ms']})"
    slower = figures["slowdown_percent"]
    if isinstance(slower, str):
        yield f"{'slow-down of a job':<28} {slower}"
    else:
        yield from (f"{f'percent slower at {interval}':<28} {percent:>10}" for interval, percent in slower.items())


def main(argv: Sequence[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Compare, measure, print a table and one last line of JSON."""
    parser = argparse.ArgumentParser(description="GPU values next to nvidia-smi's, and what reading them costs.")
    parser.add_argument("--looks", type=within(int, 1, 1000), default=5, help="how often values are compared")
    parser.add_argument("--polls", type=within(int, 1, 100_000), default=50, help="polls whose cost is measured")
    parser.add_argument("--seconds", type=within(float, 0.1, DAY_S), default=5.0, help="length of one run of the job")
    parser.add_argument("--rounds", type=within(int, 1, 1000), default=3, help="runs of the job of each kind")
    parser.add_argument("--json", action="store_true", help="accepted for likeness: the last line is JSON anyway")
    arguments = parser.parse_args(argv)
    with ExitStack() as stack:
        try:
            collectors = _opened(stack)
            _smi("-L")
        except (Unavailable, OSError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"bench.gpu_check needs a machine with an NVIDIA GPU and nvidia-smi: {error}\n")
            return 2
        figures = measure(collectors, arguments)
    for line in _table(figures):
        say(line)
    say(json.dumps(figures))
    return int(bool(figures["different"]))


if __name__ == "__main__":
    sys.exit(main())
