"""How often the shipped pipeline alarms on this host under normal loads, live: idle, compiling, training and copying.

    python -m bench.quiet.normal --hours 2 --json

The loads take turns in an order by seed, each once within ten minutes, while ``hostpulse-exporter record`` writes down
all that it samples; the recording is then judged as ``hostpulse-detector replay`` does. What else runs on the host is
in it too. ``--out`` keeps the recording, and ``--recording`` judges one that was kept.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from bench.arguments import MOST_SEED, within
from bench.detection.report import plain
from bench.faults.journal import ROOT, Journal
from bench.faults.resident import Resident
from bench.quiet.figures import Figures, upper_bound
from detector.findings import as_text
from detector.judge import DAY_S
from detector.recording import open_recording
from detector.replay import Findings, replay
from detector.settings import Settings

LOADS = ("nothing", "build", "train", "copy")
TURN_S = 150.0
_END_LIMIT_S = 60.0


def turns(seconds: float, seed: int, turn_s: float = TURN_S) -> Iterator[tuple[str, float]]:
    """Which load runs and for how long, until so many seconds are over; each comes once in a round.

    >>> [load for load, _ in turns(600.0, 0)]
    ['copy', 'build', 'nothing', 'train']
    """
    chance = random.Random(seed)
    while seconds > 0:
        for load in chance.sample(LOADS, len(LOADS)):
            if seconds > 0:
                yield load, min(turn_s, seconds)
            seconds -= turn_s


def record(folder: Path, seconds: float, seed: int, turn_s: float = TURN_S) -> None:
    """Record this host under the loads into ``folder``, which must not be there or be empty."""
    with Journal() as journal, ExitStack() as stack, tempfile.TemporaryDirectory(prefix="hostpulse-normal-") as place:
        programs = {
            load: stack.enter_context(Resident(journal, load, Path(place) / load)) for load in LOADS
        }  # that they are started is no part of the load
        exporter = subprocess.Popen([sys.executable, "-m", "exporter", "record", f"--out={folder}"], cwd=ROOT)
        journal.ends(exporter.pid)
        stack.callback(_end, exporter)
        for load, lasts_s in turns(seconds, seed, turn_s):
            programs[load].on()
            Event().wait(lasts_s)
            programs[load].off()
            assert exporter.poll() is None, "the exporter records to the end"


def _end(exporter: subprocess.Popen[bytes]) -> None:
    exporter.terminate()
    exporter.wait(_END_LIMIT_S)


def judge(folder: Path, settings: Settings) -> Findings:
    """What the shipped pipeline finds in a recording."""
    return replay(open_recording(folder), settings, lambda _: False)


def figures(found: Findings) -> Figures:
    """Alarms in so many hours, and the rate a day that they speak against with 95 % confidence."""
    days = found.judged * found.stride_s / DAY_S
    count, pages = len(found.episodes), sum(one.page for one in found.episodes)
    return {
        "hours": days * 24,
        "warnings": count,
        "warning_per_day": found.alarms_per_day,
        "warning_upper_95": upper_bound(count, days),
        "pages": pages,
        "page_upper_95": upper_bound(pages, days),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quiet.normal", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=within(float, 0.25, 720), default=2.0)
    parser.add_argument("--seed", type=within(int, 0, MOST_SEED), default=1, help="order of the loads")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--out", type=Path, help="keep the recording in this folder, which must be empty or not there")
    kept.add_argument("--recording", type=Path, help="record nothing and judge what is in this folder")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Record, judge, tell."""
    parser = _parser()
    given = parser.parse_args(argv)
    if given.out and given.out.exists() and (not given.out.is_dir() or any(given.out.iterdir())):
        parser.error(f"--out: {given.out} is not an empty folder")
    with tempfile.TemporaryDirectory(prefix="hostpulse-normal-") as place:
        folder = given.recording or given.out or Path(place) / "recording"
        if not given.recording:
            record(folder.absolute(), given.hours * 3600.0, given.seed)
        found = judge(folder, Settings())
    print(as_text(found), end="")
    if given.json:
        print(json.dumps(plain(figures(found))))


if __name__ == "__main__":
    main()
