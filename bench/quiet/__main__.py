"""How often the shipped pipeline alarms on simulated healthy hosts, and what it finds that is put into them.

    python -m bench.quiet --days 64 --json

Hosts with jobs, checkpoints, requests by the hour of the day and short programs are lived through window by window,
learning as a running detector does. Quiet costs nothing where nothing is found, so faults are put in as well.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Sequence
from itertools import cycle, islice

from bench.arguments import MOST_SEED, within
from bench.detection.report import plain
from bench.pool import pool
from bench.quiet.figures import Figures, figures
from bench.quiet.host import PROFILES
from bench.quiet.life import Life, Plan, live

_INTERVALS_S = {"days": 15.0, "days_at_1s": 1.0, "days_at_100ms": 0.1}
_DEFAULT_DAYS = {"days": 64.0, "days_at_1s": 4.0, "days_at_100ms": 2.0}
_QUIET = ("host_days", "warnings", "warning_per_day", "warning_upper_95", "pages", "page_per_day", "page_upper_95")
_FOUND = ("faults", "detected", "delay_s", "right", "cpu", "memory", "network", "storage")


def plans(days: float, days_per_host: float, interval_s: float, seed: int, times: float = 1.0) -> list[Plan]:
    """Hosts of every profile in turn that together live so many days, none of them less than one where that can be."""
    hosts = math.ceil(days / min(days_per_host, max(1.0, days / len(PROFILES))))
    profiles = islice(cycle(PROFILES), hosts)
    return [Plan(profile, seed + number, days / hosts, interval_s, times) for number, profile in enumerate(profiles)]


def table(name: str, found: Figures) -> str:
    """The figures of one interval for people."""
    quiet = {"all": found, "calibrated": found["calibrated"], **found["profiles"]}
    detected = {profile: row["detected"] for profile, row in found["profiles"].items()}
    parts = [
        (name, _QUIET, quiet),
        ("  put in", _FOUND, found["found"]),
        ("  detected", list(found["found"]), detected),
    ]
    return "\n".join(line for part in parts for line in _rows(*part))


def _rows(title: str, columns: Sequence[str], rows: Figures) -> list[str]:
    heading = f"{title:<22}" + "".join(f"{column:>17}" for column in columns)
    cells = ((f"  {name}", (row[column] for column in columns)) for name, row in rows.items())
    return [heading, *(f"{name:<22}" + "".join(f"{value:>17.3f}" for value in values) for name, values in cells)]


def _told(life: Life) -> str:
    """One host, with a line for each alarm and what opened it."""
    alarms = (
        f"  {alarm.opened_h:.2f} h {alarm.phase} {'page' if alarm.page else 'warning'} {alarm.subsystem} "
        f"for {alarm.lasted_s:.0f} s, most {alarm.most:.2f}: {alarm.causes}"
        for alarm in life.alarms
    )
    found = sum(not math.isnan(each.delay_s) for each in life.found)
    heading = (
        f"{life.host}: {life.fits} fits, {life.rebaselines} rebaselines, {found} of {len(life.found)} faults found"
    )
    return "\n".join([heading, *alarms])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quiet", description=(__doc__ or "").splitlines()[0])
    for name, interval_s in _INTERVALS_S.items():
        text = f"host-days that are sampled every {interval_s:g} s"
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=within(float, 0, 100_000), default=_DEFAULT_DAYS[name], help=text
        )
    parser.add_argument(
        "--days-per-host", type=within(float, 0.01, 1000), default=4.0, help="at most; so many hosts differ"
    )
    parser.add_argument("--windows", type=within(float, 1, 10), default=1.0, help="how many times as long as shipped")
    parser.add_argument(
        "--seed", type=within(int, 0, MOST_SEED), default=0, help="of the first host; the next have the next ones"
    )
    parser.add_argument("--jobs", type=within(int, 1, 1000), default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--each", action="store_true", help="also a line for each alarm")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print tables and, where asked to, one line of JSON."""
    arguments = _parser().parse_args(argv)
    wanted = {name: getattr(arguments, name) for name in _INTERVALS_S}
    result: Figures = {}
    with pool(arguments.jobs) as processes:
        begun = {
            f"{interval_s:g}s": [
                processes.submit(live, plan)
                for plan in plans(wanted[name], arguments.days_per_host, interval_s, arguments.seed, arguments.windows)
            ]
            for name, interval_s in _INTERVALS_S.items()
        }
        for name, futures in begun.items():
            lives = []
            for future in futures:
                lives.append(future.result())
                if arguments.each:
                    print(_told(lives[-1]), flush=True)
            if lives:
                result[name] = figures(lives)
                print(table(name, result[name]), flush=True)
    if arguments.json:
        print(json.dumps(plain(result)))


if __name__ == "__main__":
    main()
