"""How well the shipped pipeline detects on labelled telemetry of others.

    python -m bench.detection --data ../shared/data --json

The data are described where they are; a set is a folder of one file for each machine, or of one for each run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from bench.arguments import some_of, within
from bench.detection import hpas, machines, runs
from bench.detection.report import plain, table
from bench.detection.sets import NAMES, RUNS, SETS, DataError, Figures, Options, files
from bench.pool import pool
from detector.schedule import LEAST_SAMPLES
from tests.recorded import DATA

_ADAPTIVE = "adaptive"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with a folder for each set")
    parser.add_argument("--sets", type=some_of(NAMES), default=list(NAMES), help=f"some of {','.join(NAMES)}")
    parser.add_argument("--jobs", type=within(int, 1, 1000), default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--smooth", type=within(int, 1, 10_000), default=1, help="rank by the causal mean of so many scores"
    )
    parser.add_argument(
        "--windows", type=_times, default=1.0, help="how many times as long as shipped, 0.5 to 10, or `adaptive`"
    )
    parser.add_argument("--strides", type=within(int, 1, 10_000), default=1, help="samples from one window to the next")
    parser.add_argument("--quick", action="store_true", help="one model of the train split, which learns no more")
    parser.add_argument("--each", action="store_true", help="also the figures of each machine")
    parser.add_argument("--dump", type=Path, help="folder for the scores of each machine")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def _times(text: str) -> float | None:
    """How many times as long windows are; None for those that adapt."""
    return None if text == _ADAPTIVE else within(float, 0.5, 10, f", or {_ADAPTIVE}")(text)


def _begin(processes: Executor, name: str, data: Path, options: Options) -> machines.Work | runs.Work | None:
    """The work of one data set, under way; None where its folder holds nothing."""
    folder = data / name
    if not files(folder):
        return None
    if name == RUNS:
        return runs.Work(processes, hpas.plan(folder), options)
    return machines.Work(processes, folder, SETS[name], options)


def _measure(wanted: Sequence[str], data: Path, jobs: int, options: Options) -> Figures:
    result: Figures = {}
    with pool(jobs) as processes:
        begun = {name: _begin(processes, name, data, options) for name in wanted}
        for name, work in begun.items():
            if work is None:
                print(f"{name}: skipped, {data / name} holds no .npz file")
                continue
            result[name] = work.figures()
            print(table(work.title, result[name]), flush=True)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print tables and, where asked to, one line of JSON."""
    arguments = _parser().parse_args(argv)
    try:
        if not arguments.data.is_dir():
            raise DataError(f"--data: {arguments.data} is not a folder")
        if arguments.strides > LEAST_SAMPLES * (arguments.windows or 1.0):
            raise DataError(f"--strides: must be 1 to as many samples as a window has, not {arguments.strides}")
        options = Options(
            arguments.smooth, arguments.quick, arguments.each, arguments.dump, arguments.windows, arguments.strides
        )
        result = _measure(arguments.sets, arguments.data, arguments.jobs, options)
    except DataError as error:
        print(f"python -m bench.detection: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(plain(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
