"""Runs one workload and tells of each run in a line of JSON: when it began and ended, and its steps.

    python -m bench.workloads perceptron --seconds 10

Without ``--seconds`` it is set up once and runs for as many seconds as each line that it is sent says.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from bench.arguments import within
from bench.workloads.job import Job
from bench.workloads.registry import WORKLOADS

_seconds = within(float, 0.1, 3600)


def _run(job: Job, seconds: float, pause_s: float) -> dict[str, float]:
    """Times are those of the wall clock, from which a recording's own can be told."""
    begun_s, until_s, steps, never = time.time(), time.monotonic() + seconds, 0, Event()
    while job.agree(time.monotonic() < until_s):
        job.step()
        steps += 1
        if pause_s:
            never.wait(pause_s)
    return {"begun_s": begun_s, "ended_s": time.time(), "steps": steps}


def main(argv: Sequence[str] | None = None) -> None:
    """Set up, run and tell."""
    parser = argparse.ArgumentParser(prog="python -m bench.workloads", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=list(WORKLOADS))
    parser.add_argument("--seconds", type=_seconds)
    arguments = parser.parse_args(argv)
    workload = WORKLOADS[arguments.name]
    with tempfile.TemporaryDirectory(prefix="hostpulse-workload-") as folder:
        job = workload.set_up(Path(folder))
        job.step()  # what is done only once is part of no run
        for seconds in [arguments.seconds] if arguments.seconds else map(_seconds, sys.stdin):
            print(json.dumps(_run(job, seconds, workload.pause_s)), flush=True)


if __name__ == "__main__":
    main()
