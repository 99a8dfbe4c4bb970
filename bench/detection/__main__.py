"""How well the shipped pipeline detects on labelled telemetry of others.

python -m bench.detection --data ../shared/data --json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from threadpoolctl import threadpool_limits

from bench.detection.machines import Figures, mean, measure
from bench.detection.sets import SETS, DataError, files

_COLUMNS = {
    "f1": "f1", "ap": "ap", "roc": "roc", "event_recall": "recall", "episode_precision": "prec", "fpr": "fpr",
    "alarms_per_day": "alarms/d", "false_episodes_per_day": "false/d", "delay_s": "delay_s",
    "chance_hit_rate": "chance",
}  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with a folder for each set")
    parser.add_argument("--sets", default=",".join(SETS), help="which data sets, by comma")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; a machine is one's work")
    parser.add_argument("--smooth", type=int, default=1, help="rank by the causal mean of so many scores")
    parser.add_argument("--quick", action="store_true", help="one model of the train split, which learns no more")
    parser.add_argument("--each", action="store_true", help="also the figures of each machine")
    parser.add_argument("--dump", type=Path, help="folder for the scores of each machine")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def table(title: str, figures: Figures) -> str:
    """Rows of detectors, and below what has one figure only."""
    lines = [f"{title:<22}" + "".join(f"{heading:>10}" for heading in _COLUMNS.values())]
    for name, row in figures.items():
        if isinstance(row, dict):
            lines.append(f"  {name:<20}" + "".join(f"{row[column]:>10.3f}" for column in _COLUMNS))
    single = [f"{name} {value:.3f}" for name, value in figures.items() if not isinstance(value, dict)]
    return "\n".join([*lines, "  " + "  ".join(single)])


def plain(figures: Figures) -> Figures:
    """With four digits, and None for NaN, which JSON does not know."""
    return {
        name: plain(value) if isinstance(value, dict) else None if math.isnan(value) else round(value, 4)
        for name, value in figures.items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print tables and, where asked to, one line of JSON."""
    arguments = _parser().parse_args(argv)
    wanted = arguments.sets.split(",")
    unknown = sorted(set(wanted) - SETS.keys())
    if unknown:
        print(f"--sets: there is no {unknown[0]!r}, only {', '.join(SETS)}", file=sys.stderr)
        return 2
    if not arguments.data.is_dir():
        print(f"--data: {arguments.data} is not a folder", file=sys.stderr)
        return 2
    found = {name: files(arguments.data / name) for name in wanted}
    result: Figures = {}
    with ProcessPoolExecutor(arguments.jobs, initializer=threadpool_limits, initargs=(1,)) as pool:
        work: dict[str, list[Future[Figures]]] = {
            name: [
                pool.submit(measure, path, SETS[name], arguments.smooth, arguments.quick, arguments.dump)
                for path in paths
            ]
            for name, paths in found.items()
        }
        try:
            for name, futures in work.items():
                if not futures:
                    print(f"{name}: skipped, {arguments.data / name} holds no .npz file")
                    continue
                machines = [future.result() for future in futures]
                if arguments.each:
                    for path, figures in zip(found[name], machines, strict=True):
                        print(table(f"{name} {path.stem}", figures))
                result[name] = mean(machines)
                print(table(f"{name}, {len(machines)} machines", result[name]), flush=True)
        except DataError as error:
            pool.shutdown(cancel_futures=True)
            print(error, file=sys.stderr)
            return 2
    if arguments.json:
        print(json.dumps(plain(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
