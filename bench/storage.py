"""What one host takes in a Prometheus, before and after what its model does not use is left out at the scrape.

    python -m bench.storage --seconds 300 --json

A detector learns this host from the exporter; ``export-rules --keep`` then says what to keep. Four Prometheus scrape
the same exporter at the same time: all or what is kept, every second or every 100 ms. Each is then asked for a
snapshot, which is a block of its database, compressed as its blocks are for good. Its write-ahead log, which is larger
and goes after some hours, is not in it. Beside it stand the figures of https://arxiv.org/abs/2510.26008, for 100 ms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import requests
import yaml

from bench.arguments import DAY_S, within
from detector.export_rules import keep_rules
from tests.servers import (
    Prometheus,
    Server,
    scrape_job,
    start_detector,
    start_exporter,
    start_prometheus,
    wait_until,
)

INTERVALS = ("1s", "100ms")
PAPER = {"all_100ms": "42 to 43 kB/s", "kept_100ms": "14 to 22 kB/s"}
STRIDE = "1s"
_BASELINE_S = 60.0
_LEARNED_LIMIT_S = 120.0  # once it has seen what it learns from
_LONGEST_S = 7200  # what is longer may be several blocks
_FIGURES = ("series", "samples_per_s", "bytes_per_sample", "bytes_per_s", "index_bytes")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a Prometheus database on disk."""

    directory: Path

    def figures(self) -> dict[str, float]:
        """What it takes. ``bytes_per_s`` are those of samples; of its index a block has one, however long it is."""
        meta = json.loads((self.directory / "meta.json").read_text())
        series, samples = meta["stats"]["numSeries"], meta["stats"]["numSamples"]
        per_second = (samples - series) / ((meta["maxTime"] - meta["minTime"]) / 1000)
        chunk_bytes = sum(file.stat().st_size for file in (self.directory / "chunks").iterdir())
        return {
            "series": series,
            "samples_per_s": round(per_second, 1),
            "bytes_per_sample": round(chunk_bytes / samples, 3),
            "bytes_per_s": round(chunk_bytes / samples * per_second, 1),
            "index_bytes": (self.directory / "index").stat().st_size,
        }


def snapshot(prometheus: Prometheus) -> Block:
    """All that a Prometheus holds, as one block."""
    reply = requests.post(f"{prometheus.url}/api/v1/admin/tsdb/snapshot", timeout=60)
    assert reply.ok, reply.text
    folder = prometheus.file.parent / "data" / "snapshots" / reply.json()["data"]["name"]
    blocks = [path.parent for path in folder.glob("*/meta.json")]
    assert len(blocks) == 1, f"a snapshot of less than two hours is one block, not {len(blocks)}"
    return Block(blocks[0])


def learn(exporter: Server, folder: Path, baseline_s: float, stride: str) -> str:
    """The relabelling that keeps what a model of the exporter's host uses."""
    state = folder / "state"
    flags = f"--source.exporter.targets={exporter.url}", f"--state.directory={state}"
    windows = f"--baseline.duration={baseline_s:g}s", f"--window.stride={stride}"
    limit_s = baseline_s + _LEARNED_LIMIT_S
    with start_detector(folder, *flags, *windows) as detector:
        wait_until(lambda: b"anomaly_score{" in detector.get("/metrics").content, limit_s, "a score")
    return keep_rules(state)


def measure(seconds: float, baseline_s: float, folder: Path, stride: str = STRIDE) -> dict[str, Any]:
    """All figures, from so many seconds of scrapes."""
    with start_exporter(folder / "exporter") as exporter, ExitStack() as stack:
        rules = yaml.safe_load(learn(exporter, folder, baseline_s, stride))
        running: dict[str, Prometheus] = {}
        for interval in INTERVALS:
            for name, relabelling in (("all", {}), ("kept", rules)):
                job = scrape_job("hostpulse", exporter.address, interval=interval) | relabelling
                place, flags = folder / f"{name}_{interval}", ("--web.enable-admin-api",)
                running[place.name] = stack.enter_context(start_prometheus(place, [job], flags=flags))
        for prometheus in running.values():
            prometheus.await_result("up == 1")
        Event().wait(seconds)
        return {"seconds": seconds} | {name: snapshot(one).figures() for name, one in running.items()}


def table(figures: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{'':<11}" + "".join(f"{name:>19}" for name in _FIGURES) + "   the paper's bytes/s"]
    for name, row in figures.items():
        if isinstance(row, dict):
            lines.append(
                f"{name:<11}" + "".join(f"{row[figure]:>19}" for figure in _FIGURES) + f"   {PAPER.get(name, '')}"
            )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table and, where asked to, one line of JSON."""
    parser = argparse.ArgumentParser(description="Bytes that one host takes in a Prometheus, live.")
    parser.add_argument("--seconds", type=within(float, 1, _LONGEST_S), default=300.0, help="time under scrapes")
    parser.add_argument(
        "--baseline", type=within(float, 30, DAY_S), default=_BASELINE_S, help="seconds that are learned from"
    )
    parser.add_argument("--stride", default=STRIDE, help="time between the windows of them")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hostpulse-bench-") as folder:
        figures = measure(arguments.seconds, arguments.baseline, Path(folder), arguments.stride)
    print(table(figures))
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
