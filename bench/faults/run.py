"""A run: the baseline under changing loads, then each step of the plan at its time, then what everybody said of it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from bench.faults.matching import Track
from bench.faults.peers.stored import RULES, by_kmeans, by_rules
from bench.faults.plan import ROUNDS, STARTUP_S, Kind, Plan, Step
from bench.faults.stage import JOB, Stage, running_stage
from bench.faults.suite import LOADS
from bench.faults.watch import Watcher, incidents_of

EMBEDDED, STORED, KMEANS = "embedded", "hostpulse_prometheus", "kmeans_per_metric"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """The plan as it was carried out, and what each detector said, on the plan's clock."""

    steps: tuple[Step, ...]
    seconds: float
    tracks: Mapping[str, Track]


def carry_out(plan: Plan, folder: Path) -> Outcome:
    """Run the plan on this host. Raises UnavailableError where that cannot be done here."""
    faults = [step.name for step in plan.steps if step.kind is Kind.FAULT]
    with running_stage(folder, faults, plan.baseline_s) as stage, contextlib.ExitStack() as stack:
        watchers = {name: stack.enter_context(Watcher(server)) for name, server in stage.detectors.items()}
        _baseline(plan, stage, watchers)
        start_s = time.time()
        _LOG.info("the baseline is learned, %d steps begin", len(plan.steps))
        _steps(plan, stage, start_s)
        stage.ground.change_load("")
        return Outcome(plan.steps, plan.seconds, _tracks(plan, stage, watchers, start_s))


def _baseline(plan: Plan, stage: Stage, watchers: Mapping[str, Watcher]) -> None:
    """Each load in turn until all have a model; what they learned last must not be a load that is never seen again."""
    never, began_s = Event(), time.monotonic()
    turn_s = plan.baseline_s / (ROUNDS * len(LOADS))
    limit_s, turn = plan.baseline_s + 2 * STARTUP_S, 0
    while not all(watcher.learned for watcher in watchers.values()):
        elapsed_s = time.monotonic() - began_s
        assert elapsed_s < limit_s, (
            f"no model after {elapsed_s:.0f} s: {[dict(one.newest) for one in watchers.values()]}"
        )
        if elapsed_s >= turn * turn_s:
            stage.ground.change_load(list(LOADS)[turn % len(LOADS)])
            turn += 1
        never.wait(1.0)


def _steps(plan: Plan, stage: Stage, start_s: float) -> None:
    ground = stage.ground
    for step in plan.steps:
        _until(start_s + step.start_s - plan.quiet_s / 2)
        ground.change_load(step.load)
        _until(start_s + step.start_s)
        _LOG.info("%6.1f s: %s %s under the load %s", step.start_s, step.kind, step.name, step.load)
        if step.kind is Kind.OUTAGE:
            stage.outage(step.name, step.seconds)
            continue
        switch = (ground.faults if step.kind is Kind.FAULT else ground.controls)[step.name]
        switch.on()
        try:
            _until(start_s + step.end_s)
        finally:
            switch.off()
    _until(start_s + plan.seconds)


def _until(wall_s: float) -> None:
    Event().wait(max(0.0, wall_s - time.time()))


def _tracks(plan: Plan, stage: Stage, watchers: Mapping[str, Watcher], start_s: float) -> dict[str, Track]:
    end_s = start_s + plan.seconds
    tracks = {
        name: watchers[server].track(start_s, incidents_of(stage.detectors[server], start_s, end_s))
        for name, server in ((EMBEDDED, EMBEDDED), (STORED, "prometheus"))
    }
    for peer in RULES:
        tracks[peer] = by_rules(stage.prometheus, peer, start_s, end_s)
    tracks[KMEANS] = by_kmeans(stage.prometheus, JOB, start_s, plan.baseline_s, end_s)
    return tracks
