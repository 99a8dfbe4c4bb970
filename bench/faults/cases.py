"""The paper's five cases, re-enacted: what is blamed, what is diagnosed, and what they do to a training job.

    python -m bench.faults.cases --json

Huge pages, interrupts and packet loss are real, under a distributed training job of PyTorch between this host and a
network namespace; the job's own bursts through the same narrow link are no fault, and are to be told apart. NUMA
placement and NCCL's queue pairs are frames (``bench.faults.frames``). https://arxiv.org/abs/2510.26008
Needs root and the extra ``bench``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from bench.arguments import DAY_S, some_of, within
from bench.faults.__main__ import CANNOT, baseline_s
from bench.faults.frames import incident_of
from bench.faults.injections import Dropped, HugePages, Pair, Place, Switch
from bench.faults.link import Link
from bench.faults.stage import MERGE_S, ground, start_host_exporter
from bench.faults.watch import Watcher, await_calm, incidents_of
from deploy.debian import UnavailableError
from tests.servers import binary, environment, start_detector, wait_until
from tests.tree import ROOT

_BASELINE_S, _CASE_S = 240.0, 40.0
_MODEL_LIMIT_S, _START_LIMIT_S = 180.0, 300.0
_GIB_KB = 1 << 20
_TIMER_HZ = 15_000
_POLICED = "150 mbytes/second burst 16 mbytes"
_LOG = logging.getLogger(__name__)


class Job:
    """The training job, one rank here and one in the namespace."""

    def __init__(self, link: Link, folder: Path) -> None:
        if importlib.util.find_spec("torch") is None:
            raise UnavailableError("the training job needs PyTorch: install hostpulse with the extra bench")
        self._steps, self._host = folder / "steps", link.here
        with socket.create_server((link.here, 0)) as free:
            port = str(free.getsockname()[1])
        plain = ("env", "-u", "LD_LIBRARY_PATH", f"PYTHONPATH={ROOT}")  # the unpacked programs' libraries are not ours
        self._rank_0 = link.spawn(*plain, *self._command(0, link.device, port))
        link.spawn(*plain, *self._command(1, "eth0", port), inside=True)
        wait_until(lambda: len(self.times_s()) > 1, _START_LIMIT_S, "the job makes steps")

    def _command(self, rank: int, device: str, port: str) -> tuple[str, ...]:
        program = (sys.executable, "-m", "bench.faults.job")
        return (f"GLOO_SOCKET_IFNAME={device}", *program, str(rank), self._host, port, str(self._steps))

    def times_s(self) -> list[float]:
        """When each step so far ended."""
        return [float(line) for line in self._steps.read_text().split()] if self._steps.exists() else []

    def step_s(self, from_s: float, to_s: float) -> float:
        """How long a step took in a span of time; infinite where none ended."""
        ended = sum(from_s < at_s <= to_s for at_s in self.times_s())
        return (to_s - from_s) / ended if ended else float("inf")

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._rank_0.send_signal(number)


@dataclass(frozen=True, slots=True)
class CaseOfPaper:
    """What is re-enacted and what should be said of it. ``prepare`` is None where frames stand for it."""

    subsystem: str
    signature: str
    prepare: Callable[[Place, Job], Switch] | None = None


def _huge_pages(place: Place, _job: Job) -> Switch:
    return HugePages(3, _GIB_KB).prepare(place)


def _loss(place: Place, _job: Job) -> Switch:
    return Dropped("numgen random mod 100 < 2").prepare(place)


def _bursts(place: Place, job: Job) -> Switch:
    """The job sends more than a narrow link takes, which is as narrow before."""
    nft = binary("nft")
    rule = (
        "add table inet narrow; add chain inet narrow input { type filter hook input priority 0; }; "
        f"add rule inet narrow input meta l4proto tcp limit rate over {_POLICED} counter drop"
    )
    place.link.far.run(nft, rule)
    return Pair(partial(job.tell, signal.SIGUSR1), partial(job.tell, signal.SIGUSR2))


def _interrupts(place: Place, _job: Job) -> Switch:
    """Timers that interrupt each CPU as often, then all of them one CPU."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise UnavailableError("interrupts cannot be unevenly spread over one CPU")
    stress = ("env", *(f"{key}={value}" for key, value in _of_tools().items()), str(binary("stress-ng")))
    timers = ("--timer", "1", "--timer-freq", str(_TIMER_HZ))
    pids = [place.link.spawn("taskset", "-c", str(cpu), *stress, *timers).pid for cpu in cpus[:2]]

    def move(*to: int) -> None:
        for pid, cpu in zip(pids, to, strict=True):
            for one in (pid, *_children(pid)):
                os.sched_setaffinity(one, {cpu})

    return Pair(partial(move, cpus[0], cpus[0]), partial(move, *cpus[:2]))


def _of_tools() -> Mapping[str, str]:
    return {key: value for key, value in environment().items() if key in {"PATH", "LD_LIBRARY_PATH"}}


def _children(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            yield child
            yield from _children(child)


CASES: Mapping[str, CaseOfPaper] = {
    "huge_pages": CaseOfPaper("memory", "huge-pages", _huge_pages),
    "interrupts": CaseOfPaper("cpu", "irq-imbalance", _interrupts),
    "packet_loss": CaseOfPaper("network", "packet-loss", _loss),
    "own_bursts": CaseOfPaper("network", "workload-retransmission", _bursts),
    "numa": CaseOfPaper("memory", "numa-placement"),
    "nccl": CaseOfPaper("network", "nccl-queue-pairs"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of a case. ``active_s`` from its begin to the alarm; steps of the job in seconds; NaN for none."""

    subsystem: str = ""
    signature: str = ""
    active_s: float = float("nan")
    step_before_s: float = float("nan")
    step_during_s: float = float("nan")


def live(folder: Path, names: Sequence[str], baseline_s: float, case_s: float) -> dict[str, Told]:
    """The real ones, one after another."""
    with ground(folder, []) as made, contextlib.ExitStack() as stack:
        job = Job(made.place.link, made.place.folder)
        switches = {name: prepare(made.place, job) for name in names if (prepare := CASES[name].prepare) is not None}
        exporter = stack.enter_context(start_host_exporter(made, folder / "exporter"))
        flags = (f"--baseline.duration={baseline_s:g}s", f"--episode.merge={MERGE_S}s", "--state.directory=")
        source = f"--source.exporter.targets={exporter.url}"
        detector = stack.enter_context(start_detector(folder / "detector", source, *flags))
        made.place.journal.ends(detector.pid)
        watcher = stack.enter_context(Watcher(detector))
        wait_until(lambda: watcher.learned, baseline_s + _MODEL_LIMIT_S, "a model")
        told = {}
        for name, switch in switches.items():
            await_calm([watcher])
            told[name] = _enacted(watcher, job, switch, case_s)
            _LOG.info("%s: %s", name, told[name])
        return told


def _enacted(watcher: Watcher, job: Job, switch: Switch, case_s: float) -> Told:
    start_s = time.time()
    switch.on()
    try:
        Event().wait(case_s)
        end_s = time.time()
    finally:
        switch.off()
    track = watcher.track(start_s, incidents_of(watcher.detector, start_s, end_s))
    alarm = next((one for one in track.alarms if 0 <= one.start_s <= end_s - start_s), None)
    before_s, during_s = job.step_s(start_s - case_s, start_s), job.step_s(start_s, end_s)
    if alarm is None:
        return Told(step_before_s=before_s, step_during_s=during_s)
    return Told(alarm.subsystem, alarm.signature, alarm.start_s, before_s, during_s)


def described(name: str) -> Told:
    """One that is a frame."""
    incident = incident_of(name)
    if incident is None:
        return Told()
    first = incident.signatures[0].name if incident.signatures else ""
    return Told(incident.subsystem, first, incident.opened_s - incident.onset_s)


def table(told: Mapping[str, Told]) -> str:
    """A line for each case, with a mark where subsystem or diagnosis is not the right one."""
    lines = [f"{'':<14}{'subsystem':<14}{'diagnosis':<30}{'active_s':>9}{'step before':>13}{'during':>9}"]
    for name, one in told.items():
        right = CASES[name]
        blamed = (one.subsystem or "-") + ("" if one.subsystem == right.subsystem else " (!)")
        diagnosed = (one.signature or "-") + ("" if one.signature == right.signature else " (!)")
        figures = f"{one.active_s:>9.2f}{one.step_before_s:>13.3f}{one.step_during_s:>9.3f}"
        lines.append(f"{name:<14}{blamed:<14}{diagnosed:<30}{figures.replace('nan', '  -')}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Enact, print a table and, where asked to, one line of JSON. 2 where that cannot be done, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults.cases", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=some_of(CASES), default=list(CASES), help=f"some of {','.join(CASES)}")
    parser.add_argument("--baseline-seconds", type=baseline_s, default=_BASELINE_S, help="what is learned from")
    parser.add_argument("--case-seconds", type=within(float, 20, DAY_S), default=_CASE_S, help="length of a case")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    given = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    real = [name for name in given.cases if CASES[name].prepare is not None]
    try:
        with tempfile.TemporaryDirectory(prefix="hostpulse-faults-") as folder:
            told = live(Path(folder), real, given.baseline_seconds, given.case_seconds) if real else {}
    except UnavailableError as error:
        print(f"bench.faults.cases: {error}", file=sys.stderr)
        return CANNOT
    told |= {name: described(name) for name in given.cases if name not in real}
    print(table(told))
    if given.json:
        right = {name: one.subsystem == CASES[name].subsystem for name, one in told.items()}
        first = {name: one.signature == CASES[name].signature for name, one in told.items()}
        print(
            json.dumps(
                {"cases": len(told), "subsystem_right": sum(right.values()), "signature_right": sum(first.values())}
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
