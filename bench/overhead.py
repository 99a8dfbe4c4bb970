"""What the exporter costs at 10 Hz with one scrape a second, next to node_exporter scraped at 10 Hz, in one run.

    python -m bench.overhead --seconds 60 --json
    python -m bench.overhead --intervals 100ms,200ms,300ms,400ms,500ms,600ms
    python -m bench.overhead --machine amd

All that is compared runs and is scraped at the same time, so that whatever else the machine does meets all alike, in
several rounds of which the medians count: what the same work costs on a virtual machine changes severalfold within
minutes. ``--machine`` measures on a written tree of a large host, with a stand-in for its GPUs: there the exporter's
own work is the same as on such a host, but neither the kernel nor the driver has any.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil, floor
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from bench.exporters import await_all_tiers, command, core_percent, fast_times_s, run, side_by_side
from bench.process import Watched, at_rate
from catalog.family import Profile
from exporter.quantity import Duration
from tests.hosts.cluster import Tree
from tests.hosts.machines import MACHINES, Machine
from tests.nvml import Stub, build, profiles
from tests.nvml.stub import VARIABLE
from tests.servers.programs import start_exporter
from tests.servers.stack import start_node_exporter

_INTERVAL_S = 0.1
_NODE_FLAGS = ("--collector.interrupts", "--collector.perf")
_MANY_SCRAPES = 40.0
_EARLY_S = 0.001  # how much later than its due time the first tick, which fixes the grid, may have been


def lateness_s(times_s: Sequence[float], first_s: float, interval_s: float) -> list[float]:
    """How late each sample was on the grid that the first one began.

    >>> [round(late, 3) for late in lateness_s([100.0, 100.102, 100.3995], 100.0, 0.1)]
    [0.0, 0.002, -0.001]
    """
    offsets = (time_s - first_s for time_s in times_s)
    return [offset - floor((offset + _EARLY_S) / interval_s) * interval_s for offset in offsets]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def exposed(text: bytes) -> tuple[int, int]:
    """Number of values and of families in an exposition.

    >>> exposed(b"# TYPE a gauge\\na 1\\na{b=\\"c\\"} 2\\n")
    (2, 1)
    """
    lines = text.splitlines()
    return sum(not line.startswith(b"#") for line in lines), sum(line.startswith(b"# TYPE ") for line in lines)


def _scrape_cpu_s(exporter: Watched, seconds: float) -> float:
    """CPU of one scrape: what many of them add to none."""
    none, many = exporter.load(seconds, 0.0), exporter.load(seconds, _MANY_SCRAPES)
    return (many - none) / _MANY_SCRAPES


def _cost(
    exporter: Watched, seconds: float, rounds: int, beside: Callable[[], AbstractContextManager[object]] = nullcontext
) -> dict[str, Any]:
    """What it costs in ``seconds`` under load, in so many rounds, and as much again for the cost of a scrape.

    ``beside`` is what is done while it is under load.
    """
    part_s, loads, scrapes = seconds / rounds, [], []
    for _ in range(rounds):
        with beside():
            loads.append(exporter.load(part_s, 1.0))
        scrapes.append(_scrape_cpu_s(exporter, min(5.0, part_s)))
    values, families = exposed(exporter.get("/metrics"))
    return {
        "values": values,
        "families": families,
        "exporter_core_percent": round(100 * median(loads), 3),
        "scrape_cpu_ms": round(1000 * median(scrapes), 3),
        "rss_mb": round(exporter.rss_bytes() / (1 << 20), 1),
    }


def measure(seconds: float, profile: Profile, rounds: int, folder: Path) -> dict[str, Any]:
    """What the exporter costs, how late it samples, and what node_exporter costs at the same time: see ``_cost``."""
    node_loads: list[float] = []
    late_s: list[float] = []
    flags = (f"--profile={profile}", "--sample.interval=100ms", "--ring.duration=1h")
    with (
        start_exporter(folder, *flags) as exporter_server,
        start_node_exporter(folder, *_NODE_FLAGS) as node_server,
        Watched(exporter_server) as exporter,
        Watched(node_server) as node,
        ThreadPoolExecutor(1) as executor,
    ):
        await_all_tiers(exporter)
        first_s = fast_times_s(exporter, 0.0)[0]
        at_rate(1.0, 10.0, lambda: node.get("/metrics"))

        @contextmanager
        def beside() -> Iterator[None]:
            begun_s = time.time()
            theirs = executor.submit(node.load, seconds / rounds, 10.0)
            yield
            node_loads.append(theirs.result())
            late_s.extend(lateness_s(fast_times_s(exporter, begun_s), first_s, _INTERVAL_S))

        cost = _cost(exporter, seconds, rounds, beside)
        node_values, _ = exposed(node.get("/metrics"))
    node_percent = round(100 * median(node_loads), 3)
    ratio = (node_percent / node_values) / (cost["exporter_core_percent"] / cost["values"])
    return {
        **cost,
        "late_ms_p99": round(1000 * percentile(late_s, 0.99), 3),
        "node_exporter_core_percent": node_percent,
        "node_exporter_values": node_values,
        "ratio_per_value": round(ratio, 2),
    }


def curve(intervals: Sequence[str], seconds: float, profile: Profile, rounds: int, folder: Path) -> dict[str, Any]:
    """The share of a core at each sampling interval."""
    flags = {interval: (f"--profile={profile}", f"--sample.interval={interval}") for interval in intervals}
    with side_by_side(flags, folder) as exporters:
        percents = core_percent(exporters, seconds, rounds)
    return {f"core_percent_at_{interval}": percent for interval, percent in percents.items()}


def replay(machine: Machine, seconds: float, profile: Profile, rounds: int, folder: Path) -> dict[str, Any]:
    """What the exporter costs on the written tree of a machine: see ``_cost``."""
    tree, stub = Tree(machine, folder / "host", is_here=True), Stub(folder)
    stub.say(profiles.host(profiles.H100, machine.gpus))
    found = (f"LD_LIBRARY_PATH={build(folder / 'nvml')}", f"{VARIABLE}={stub.path}")
    flags = (f"--profile={profile}", "--sample.interval=100ms", *tree.flags)
    with (
        start_exporter(folder, *flags, prefix=("env", *found)) as server,
        Watched(server) as exporter,
        _passing(tree),
    ):
        await_all_tiers(exporter)
        cost = _cost(exporter, seconds, rounds)
    return {"machine": machine.name, "cpus": machine.cpus, "gpus": machine.gpus, **cost}


@contextmanager
def _passing(tree: Tree) -> Iterator[None]:
    """Let time pass on a tree."""
    ended = Event()

    def pass_on() -> None:
        while not ended.wait(_INTERVAL_S):
            tree.advance()

    with ThreadPoolExecutor(1) as beside:
        passing = beside.submit(pass_on)
        try:
            yield
        finally:
            ended.set()
            passing.result()


def _intervals(text: str) -> list[str]:
    """Several sampling intervals; ArgumentTypeError for one that the exporter would not take."""
    kind = Duration(0.01, 60.0)
    intervals = text.split(",")
    for interval in intervals:
        try:
            kind.parse(interval)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{interval!r} is not allowed; allowed: {kind.allowed}") from None
    return intervals


def _figures(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    asked = arguments.seconds, arguments.profile, arguments.rounds, folder
    if arguments.machine:
        return replay(MACHINES[arguments.machine], *asked)
    return curve(arguments.intervals, *asked) if arguments.intervals else measure(*asked)


def main(argv: Sequence[str] | None = None) -> None:
    """See ``bench.exporters.run``."""
    parser = command("CPU of the exporter next to node_exporter, live.")
    parser.add_argument("--profile", type=Profile, choices=list(Profile), default=Profile.CORE)
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--intervals", type=_intervals, help="instead: the exporter alone, at these sampling intervals")
    others.add_argument("--machine", choices=list(MACHINES), help="instead: the exporter on a written tree of such one")
    run(parser, argv, _figures)


if __name__ == "__main__":
    main()
