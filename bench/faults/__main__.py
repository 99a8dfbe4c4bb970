"""Real faults on this host: what is found, how soon, what is blamed, and how the usual alternatives do in the same run.

    python -m bench.faults --minutes 40 --seed 1 --json

Needs root. Everything that is changed on the host is taken back at the end, also when it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.faults.plan import BASELINE_S, TooShortError, plan
from bench.faults.report import summary, tables
from bench.faults.run import carry_out
from bench.faults.stage import require_root
from bench.faults.suite import FAULTS
from deploy.debian import UnavailableError

CANNOT = 2
_FAULT_S, _LEAST_BASELINE_S, _LEAST_FAULT_S, _MOST_S = 30.0, 60.0, 5.0, 86400.0


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, where asked to, one line of JSON. 2 where that cannot be done, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=40, help="how long it takes altogether")
    parser.add_argument("--seed", type=int, default=1, help="order of the faults")
    parser.add_argument("--faults", type=names, default=list(FAULTS), help=f"some of {','.join(FAULTS)}")
    parser.add_argument("--fault-seconds", type=at_least(_LEAST_FAULT_S), default=_FAULT_S, help="length of a fault")
    parser.add_argument(
        "--baseline-seconds", type=at_least(_LEAST_BASELINE_S), default=BASELINE_S, help="what is learned from"
    )
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    given = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        planned = plan(given.minutes, given.seed, given.faults, given.fault_seconds, given.baseline_seconds)
        require_root()
        with tempfile.TemporaryDirectory(prefix="hostpulse-faults-") as folder:
            outcome = carry_out(planned, Path(folder))
    except (TooShortError, UnavailableError) as error:
        print(f"bench.faults: {error}", file=sys.stderr)
        return CANNOT
    print(tables(outcome))
    if given.json:
        print(json.dumps(summary(outcome)))
    return 0


def names(text: str) -> list[str]:
    """Names of faults from a flag, without repetition; raises argparse's error for one that there is not."""
    given = text.split(",")
    if unknown := [name for name in given if name not in FAULTS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: must be some of {', '.join(FAULTS)}")
    return list(dict.fromkeys(given))


def at_least(least_s: float) -> Callable[[str], float]:
    """Seconds from a flag; what is given must be so many."""

    def seconds(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least_s <= value <= _MOST_S:
            raise argparse.ArgumentTypeError(f"{text}: must be {least_s:g} to {_MOST_S:g} seconds")
        return value

    return seconds


if __name__ == "__main__":
    sys.exit(main())
