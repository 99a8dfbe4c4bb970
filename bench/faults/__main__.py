"""Real faults on this host: what is found, how soon, what is blamed, and how the usual alternatives do in the same run.

    python -m bench.faults --minutes 40 --seed 1 --json

Needs root. Everything that is changed on the host is taken back at the end, also when it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.arguments import DAY_S, MOST_SEED, some_of, within
from bench.faults.injections import STRESS_LIMIT_S
from bench.faults.plan import BASELINE_S, TooShortError, plan
from bench.faults.report import summary, tables
from bench.faults.run import carry_out
from bench.faults.stage import require_root
from bench.faults.suite import FAULTS
from deploy.debian import UnavailableError

CANNOT = 2
_FAULT_S, _LONGEST_S = 30.0, STRESS_LIMIT_S - 60  # a stressor must not end by itself
baseline_s = within(float, 60, DAY_S)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, where asked to, one line of JSON. 2 where that cannot be done, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=within(float, 1, 10_000), default=40, help="how long it takes altogether")
    parser.add_argument("--seed", type=within(int, 0, MOST_SEED), default=1, help="order of the faults")
    parser.add_argument("--faults", type=some_of(FAULTS), default=list(FAULTS), help=f"some of {','.join(FAULTS)}")
    parser.add_argument(
        "--fault-seconds", type=within(float, 5, _LONGEST_S), default=_FAULT_S, help="length of a fault"
    )
    parser.add_argument("--baseline-seconds", type=baseline_s, default=BASELINE_S, help="what is learned from")
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


if __name__ == "__main__":
    sys.exit(main())
