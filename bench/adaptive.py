"""What sampling adaptively saves beside two fixed intervals, and how soon it notices a disturbance, in one run.

    python -m bench.adaptive --seconds 60 --json

All exporters run and are scraped at the same time, see ``bench.exporters``. Then the host is disturbed again and again,
from some time within a calm interval on, by programs that do nothing but wake each other. On a machine that is as
restless for other reasons none is noticed: measure on a quiet one.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from threading import Event
from typing import Any

from bench.arguments import within
from bench.exporters import command, core_percent, fast_times_s, run, side_by_side
from bench.process import Watched

FINE_S, CALM_S = 0.1, 0.6
_KEPT = "--ring.duration=1h"
_FLAGS = {
    "100ms": ("--sample.interval=100ms", _KEPT),
    "adaptive": ("--sample.interval=100ms", "--sample.adaptive=600ms", _KEPT),
    "600ms": ("--sample.interval=600ms", _KEPT),
}
_LEARNING_S, _DISTURBED_S = 20.0, 2.0
_CALM_LIMIT_S, _CALM_ROWS = 120.0, 3
_WRITER, _READER = ("dd", "if=/dev/zero", "bs=1", "status=none"), ("cat",)


def often(times_s: Sequence[float]) -> float | None:
    """The share of the time in which rows were closer than halfway between the two intervals; None for a single row.

    >>> often([0.0, 0.6, 1.2, 1.3, 1.4, 2.0])
    0.1
    """
    gaps_s = [later - earlier for earlier, later in pairwise(times_s)]
    close_s = sum(gap_s for gap_s in gaps_s if gap_s < (FINE_S + CALM_S) / 2)
    return round(close_s / sum(gaps_s), 4) if gaps_s else None


def noticed_s(times_s: Sequence[float], begun_s: float) -> float | None:
    """How long after ``begun_s`` came the row after which rows were close; None where there is none.

    >>> round(noticed_s([0.0, 0.6, 1.2, 1.3], 0.9), 3)
    0.3
    """
    later_s = [time_s for time_s in times_s if time_s > begun_s]
    return next((now_s - begun_s for now_s, next_s in pairwise(later_s) if next_s - now_s < 2 * FINE_S), None)


@contextmanager
def _disturbed() -> Iterator[None]:
    """Pairs of programs that hand each other single bytes: busy CPUs that do nothing but switch."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            writer = stack.enter_context(subprocess.Popen(_WRITER, stdout=subprocess.PIPE))
            stack.callback(writer.kill)
            reader = stack.enter_context(subprocess.Popen(_READER, stdin=writer.stdout, stdout=subprocess.DEVNULL))
            stack.callback(reader.kill)
        yield


def _await_calm(exporter: Watched) -> bool:
    """Wait until the newest rows are far apart; False where that takes too long."""
    never, deadline_s = Event(), time.monotonic() + _CALM_LIMIT_S
    while time.monotonic() < deadline_s:
        newest_s = fast_times_s(exporter, time.time() - (_CALM_ROWS + 1) * CALM_S)
        if len(newest_s) > 1 and min(later - earlier for earlier, later in pairwise(newest_s)) > CALM_S / 2:
            return True
        never.wait(CALM_S)
    return False


def _delays_s(exporter: Watched, disturbances: int) -> list[float | None]:
    """From the begin of each disturbance to the row that showed it; None where none did before it ended."""
    random, delays_s = Random(0), []
    for _ in range(disturbances):
        if not _await_calm(exporter):
            break
        Event().wait(random.uniform(0.0, CALM_S))
        begun_s = time.time()
        with _disturbed():
            Event().wait(_DISTURBED_S)
        delays_s.append(noticed_s(fast_times_s(exporter, begun_s - CALM_S), begun_s))
    return delays_s


def measure(seconds: float, rounds: int, disturbances: int, folder: Path) -> dict[str, Any]:
    """Shares of a core in ``seconds`` of so many rounds, and delays; None where a figure could not be had."""
    with side_by_side(_FLAGS, folder) as exporters:
        Event().wait(_LEARNING_S)
        begun_s = time.time()
        percents = core_percent(exporters, seconds, rounds)
        share = often(fast_times_s(exporters["adaptive"], begun_s))
        delays_s = _delays_s(exporters["adaptive"], disturbances)
    seen_ms = [round(1000 * delay_s, 1) for delay_s in delays_s if delay_s is not None]
    return {
        **{f"core_percent_{name}": percent for name, percent in percents.items()},
        "unsettled_share": share,
        "disturbances": len(delays_s),
        "noticed": len(seen_ms),
        "noticed_ms_p50": median(seen_ms) if seen_ms else None,
        "noticed_ms_max": max(seen_ms, default=None),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """See ``bench.exporters.run``."""
    parser = command("CPU and delay of adaptive sampling, live.")
    parser.add_argument("--disturbances", type=within(int, 0, 1000), default=10, help="how often the host is disturbed")
    run(parser, argv, lambda given, folder: measure(given.seconds, given.rounds, given.disturbances, folder))


if __name__ == "__main__":
    main()
