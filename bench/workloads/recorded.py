"""Runs of workloads in turn, in one recording of the exporter, and when each of them was."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from threading import Event

from bench.workloads.cable import cable
from bench.workloads.process import worker
from bench.workloads.registry import WORKLOADS, lacking
from catalog import recording
from tests.servers.namespace import allowed
from tests.servers.process import wait_until
from tests.servers.programs import ROOT

_BEGUN_LIMIT_S, _SAVED_LIMIT_S = 60.0, 60.0
_PAUSE_S = 1.0  # between two runs
TOLD = "runs.json"


@dataclass(frozen=True, slots=True)
class Run:
    """One run: ``span_s`` are its begin and end on the recording's clock. In a turn each workload runs once."""

    workload: str
    turn: int
    span_s: tuple[float, float]
    steps: int


@dataclass(frozen=True, slots=True)
class Runs:
    """A ``directory`` with a recording, the runs in it by age, and why other workloads are not in it."""

    directory: Path
    runs: tuple[Run, ...]
    lacking: Mapping[str, str]


def record(names: Sequence[str], times: int, seconds: float, folder: Path) -> Runs:
    """Each of the workloads that can run here so many times, so many seconds each.

    They take turns in an order that is drawn anew for each turn, so that what drifts on the host parts none of them.
    """
    why = {name: lacking(WORKLOADS[name], allowed()) for name in names}
    able, random, told = [name for name in names if not why[name]], Random(0), []
    with contextlib.ExitStack() as stack:
        joined = any(WORKLOADS[name].ranks > 1 for name in able)
        link = stack.enter_context(cable()) if joined else None
        workers = {name: stack.enter_context(worker(WORKLOADS[name], link, folder / "work")) for name in able}
        for each in workers.values():
            each.run(1.0)  # the first one loads libraries
        directory = stack.enter_context(_recording(folder / "recording"))
        for turn in range(times):
            for name in random.sample(able, len(able)):
                told.append((name, turn, *workers[name].run(seconds)))
                Event().wait(_PAUSE_S)
    ahead_s = _ahead_s(directory)
    runs = tuple(
        Run(name, turn, (begun_s - ahead_s, ended_s - ahead_s), steps) for name, turn, begun_s, ended_s, steps in told
    )
    found = Runs(directory, runs, {name: reason for name, reason in why.items() if reason})
    (folder / TOLD).write_text(json.dumps({"runs": list(map(asdict, runs)), "lacking": found.lacking}))
    return found


def load(folder: Path) -> Runs:
    """What ``record`` left in a folder. Raises OSError and ValueError."""
    about = json.loads((folder / TOLD).read_text())
    runs = tuple(Run(run["workload"], run["turn"], tuple(run["span_s"]), run["steps"]) for run in about["runs"])
    return Runs(folder / "recording", runs, about["lacking"])


def _ahead_s(directory: Path) -> float:
    """How far the wall clock was ahead of the recording's, which starts with it and is not stepped."""
    clock = json.loads((directory / recording.ABOUT).read_text())["clock"]
    return float(clock[-1]["wall_offset_s"])


@contextlib.contextmanager
def _recording(directory: Path) -> Iterator[Path]:
    """The exporter records the host for as long as the block runs."""
    command = [sys.executable, "-m", "exporter", "record", f"--out={directory}", "--profile=full"]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        begun = f"fast-*{recording.SUFFIX}"
        wait_until(lambda: next(directory.glob(begun), None), _BEGUN_LIMIT_S, "the first rows of a recording")
        yield directory
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=_SAVED_LIMIT_S)
    assert process.returncode == 0, f"the recording ended with status {process.returncode}: {log[-1000:]}"
