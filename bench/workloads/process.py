"""The processes of workloads: set up once, then told to run for some seconds, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.workloads.job import Workload
from bench.workloads.networks import MEETING, RANK, RANKS
from tests.servers.namespace import HERE, End
from tests.servers.programs import ROOT

_LIMIT_S = 600.0  # beyond the run itself: libraries are loaded and data are made up before the first
_STOP_LIMIT_S = 20.0
_INTERFACE = "GLOO_SOCKET_IFNAME"
_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # several that spin would take turns on few CPUs


class Worker:
    """One workload, in as many processes as it has ranks."""

    def __init__(self, ranks: Sequence[subprocess.Popen[str]], beside: ThreadPoolExecutor) -> None:
        self._ranks, self._beside = ranks, beside

    def run(self, seconds: float) -> tuple[float, float, int]:
        """Run for so long; wall times of the begin and the end, and the steps, as the first rank tells them."""
        for rank in self._ranks:
            assert rank.stdin is not None, "a worker is told what to do"
            rank.stdin.write(f"{seconds}\n")
            rank.stdin.flush()
        waiting = [self._beside.submit(_line, rank) for rank in self._ranks]
        answers = [json.loads(line.result(_LIMIT_S + seconds)) for line in waiting]
        return answers[0]["begun_s"], answers[0]["ended_s"], answers[0]["steps"]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None, "a worker tells what it did"
    line = process.stdout.readline()
    assert line, f"a workload ended with status {process.wait(_STOP_LIMIT_S)}"
    return line


@contextlib.contextmanager
def worker(workload: Workload, link: tuple[End, End] | None, folder: Path) -> Iterator[Worker]:
    """Its processes for as long as the block runs; the second of two ranks sits at the other end of ``link``."""
    folder.mkdir(parents=True, exist_ok=True)
    assert link is not None or workload.ranks == 1, f"{workload.name}: its ranks have to be joined"
    ends = link or (End(HERE, ""),)
    ranks: list[subprocess.Popen[str]] = []
    with ThreadPoolExecutor(workload.ranks) as beside, (folder / f"{workload.name}.log").open("w") as log:
        try:
            for rank in range(workload.ranks):
                place = {RANK: str(rank), RANKS: str(workload.ranks), MEETING: str(folder / workload.name)}
                end = ends[rank]
                ranks.append(_start(workload.name, end.place.prefix, place | {_INTERFACE: end.device}, log.fileno()))
            yield Worker(ranks, beside)
        finally:
            for process in ranks:
                process.terminate()
            for process in ranks:
                process.communicate(timeout=_STOP_LIMIT_S)


def _start(name: str, prefix: Sequence[str], place: Mapping[str, str], log: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "bench.workloads", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **_THREADS, **place},
        cwd=ROOT,
    )
