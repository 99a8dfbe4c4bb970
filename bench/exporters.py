"""Exporters that run side by side: what they cost, and the command line of the benches that measure it."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.arguments import DAY_S, within
from bench.process import Watched
from detector.samples import decode
from tests.servers.process import READY_LIMIT_S, wait_until
from tests.servers.programs import start_exporter


def fast_times_s(exporter: Watched, since_s: float) -> list[float]:
    """Times of the fast tier's rows later than a time."""
    header, tables = decode(exporter.get(f"/api/v1/samples?since={since_s!r}"), {})
    fast = [times for segment, (times, _) in zip(header.segments, tables, strict=True) if segment.tier == "fast"]
    return [float(time_s) for times in fast for time_s in times]


def await_all_tiers(exporter: Watched) -> None:
    """Wait until each tier has been sampled."""
    wait_until(lambda: b'{tier="slow"}' in exporter.get("/metrics"), READY_LIMIT_S, "a slow sample")


@contextmanager
def side_by_side(flags: Mapping[str, Sequence[str]], folder: Path) -> Iterator[dict[str, Watched]]:
    """An exporter with each of these flags, all tiers of which have been sampled."""
    with ExitStack() as stack:
        exporters = {}
        for name, own in flags.items():
            (folder / name).mkdir()
            exporters[name] = stack.enter_context(Watched(stack.enter_context(start_exporter(folder / name, *own))))
            await_all_tiers(exporters[name])
        yield exporters


def core_percent(exporters: Mapping[str, Watched], seconds: float, rounds: int) -> dict[str, float]:
    """Of one core, with one scrape a second: medians of so many rounds that take ``seconds`` together."""
    with ThreadPoolExecutor(len(exporters)) as beside:
        loads = []
        for _ in range(rounds):
            running = [beside.submit(exporter.load, seconds / rounds, 1.0) for exporter in exporters.values()]
            loads.append([load.result() for load in running])
    shares = map(median, zip(*loads, strict=True))
    return {name: round(100 * share, 3) for name, share in zip(exporters, shares, strict=True)}


def command(about: str) -> argparse.ArgumentParser:
    """The flags that these benches share."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--seconds", type=within(float, 1, DAY_S), default=60.0, help="time under load, at least 1 for each round"
    )
    parser.add_argument("--rounds", type=within(int, 1, 1000), default=6, help="the median of so many rounds counts")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def run(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    measure: Callable[[argparse.Namespace, Path], Mapping[str, Any]],
) -> None:
    """Measure, print a table and, where asked to, one line of JSON. A figure that could not be had is None."""
    arguments = parser.parse_args(argv)
    if arguments.rounds > arguments.seconds:
        parser.error("--seconds must be at least 1 for each of --rounds")
    with tempfile.TemporaryDirectory(prefix="hostpulse-bench-") as folder:
        figures = measure(arguments, Path(folder))
    for name, figure in figures.items():
        print(f"{name:<28} {'-' if figure is None else figure:>10}")
    if arguments.json:
        print(json.dumps(figures))
