"""Every figure that the paper reports beside ours, in one table: https://arxiv.org/abs/2510.26008

    python -m bench.paper --json
    python -m bench.paper --quick --parts stability,portability

Ends with one line of JSON. What cannot run here is told with its reason and is not counted as measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.arguments import some_of
from bench.paper.bench import FULL, QUICK, Bench
from bench.paper.parts import PARTS
from bench.paper.row import CannotMeasureError, Row, table
from deploy.debian import UnavailableError


def machine() -> str:
    """What this runs on, without when."""
    return f"{os.cpu_count()} CPUs, {platform.machine()}, Linux {platform.release()}"


def measure(names: Sequence[str], bench: Bench) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """The rows of each part, and why others have none."""
    rows: dict[str, list[Row]] = {}
    reasons: dict[str, str] = {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            rows[name] = list(PARTS[name](bench))
        except (CannotMeasureError, UnavailableError, AssertionError) as error:
            reasons[name] = str(error).partition("\n")[0]
            failed = "failed: " if isinstance(error, AssertionError) else "cannot run here: "
            rows[name] = [Row(name, name, "", math.nan, note=failed + reasons[name])]
    return rows, reasons


def line(rows: dict[str, list[Row]], reasons: dict[str, str], quick: bool) -> dict[str, Any]:
    """What is printed as JSON; a figure that there is none of is null."""
    figures = {row.key: row.ours if row.measured else None for part in rows.values() for row in part}
    measured = sum(figure is not None for figure in figures.values())
    return {"quick": quick, "machine": machine(), "measured": measured, "not_measured": reasons, "figures": figures}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.paper", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", type=some_of(PARTS), default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="shorten all that is live: to see that it works")
    parser.add_argument("--runs", type=Path, help="folder of the recorded workloads: used if there, else left there")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the table and, where asked to, one line of JSON."""
    arguments = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hostpulse-bench-") as folder:
        bench = Bench(Path(folder), QUICK if arguments.quick else FULL, arguments.runs)
        rows, reasons = measure(arguments.parts, bench)
    print(f"{machine()}{'; --quick: too short to quote' if arguments.quick else ''}\n")
    print(table([row for part in rows.values() for row in part]))
    if arguments.json:
        print(json.dumps(line(rows, reasons, arguments.quick)))


if __name__ == "__main__":
    main()
