"""How often the comparison with peers alarms on healthy hosts of simulated jobs, and how soon it finds small shifts.

    python -m bench.peers --host-days 20 --json

Eight hosts of 60 series each go through the phases of one job. A fault shifts six series of one subsystem of one host
by some deviations of their noise, far less than a phase.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.arguments import within
from bench.detection.report import plain
from bench.peers.job import HOSTS, KINDS
from bench.peers.trial import LEARNED_SHARE, SHIFTS, Outcome, Plan, lived
from bench.pool import pool
from bench.quiet.figures import upper_bound

HOURS = 50.0  # of one job: pages need a day that was seen
_COLUMNS = ("host_days", "warnings", "warning_per_day", "warning_upper_95", "pages", "page_per_day")


def plans(host_days: float, faults: int, hours: float = HOURS) -> list[Plan]:
    """Jobs of each kind whose judged lives are so many host-days together."""
    jobs = max(1, math.ceil(host_days * 24 / (HOSTS * hours * (1 - LEARNED_SHARE))))
    return [Plan(kind, seed, hours, math.ceil(faults / jobs)) for kind in KINDS for seed in range(jobs)]


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """All figures of jobs of one kind."""
    days = sum(outcome.host_days for outcome in outcomes)
    warnings, pages = (sum(getattr(each, name) for each in outcomes) for name in ("warnings", "pages"))
    rates = (days, warnings, warnings / days, upper_bound(warnings, days), pages, pages / days)
    result: dict[str, Any] = dict(zip(_COLUMNS, rates, strict=True))
    for shift in SHIFTS:
        own = [found for outcome in outcomes for found in outcome.found if found.shift == shift]
        for name, delays_s in (("warned", [f.warned_s for f in own]), ("paged", [f.paged_s for f in own])):
            seen_s = [delay_s for delay_s in delays_s if not math.isnan(delay_s)]
            result[f"shift_{shift:g}_{name}"] = len(seen_s) / len(own)
            result[f"shift_{shift:g}_{name}_s"] = median(seen_s) if seen_s else math.nan
    return result


def table(results: dict[str, dict[str, Any]]) -> str:
    """The figures for people."""
    lines = [f"{'':<24}" + "".join(f"{name:>14}" for name in results)]
    keys = next(iter(results.values()))
    lines += [f"{key:<24}" + "".join(f"{row[key]:>14.3f}" for row in results.values()) for key in keys]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table and, where asked to, one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--host-days", type=within(float, 0.01, 10_000), default=20.0, help="judged, of each kind of job"
    )
    parser.add_argument(
        "--faults", type=within(int, 1, 100_000), default=200, help="put in, of each size and kind of job"
    )
    parser.add_argument(
        "--hours", type=within(float, 1, 10_000), default=HOURS, help="that one job lasts; half of it is learned"
    )
    parser.add_argument("--jobs", type=within(int, 1, 1000), default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args(argv)
    wanted = plans(arguments.host_days, arguments.faults, arguments.hours)
    with pool(arguments.jobs) as processes:
        outcomes = list(processes.map(lived, wanted))
    by_kind = {
        kind.name: figures([outcome for plan, outcome in zip(wanted, outcomes, strict=True) if plan.kind == kind])
        for kind in KINDS
    }
    print(table(by_kind))
    if arguments.json:
        print(json.dumps(plain(by_kind)))


if __name__ == "__main__":
    main()
