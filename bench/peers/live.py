"""Eight exporters in eight network namespaces that run one job, and packets of one of them are lost: who is found?

    python -m bench.peers.live --json

They share one kernel, so that only their network signals differ. Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from bench.arguments import DAY_S, within
from bench.peers.traffic import PORT
from tests.servers import Server, UnavailableError, binary, start_detector, wait_until
from tests.servers.namespace import HERE, End, Namespace, join, namespace, run
from tests.servers.programs import ROOT

HOSTS, SICK = 8, 3
GROUP = "ring"
_NETWORK, _PORT = "10.231.77", 17720
_LEARN_LIMIT_S, _FAULT_LIMIT_S = 180.0, 60.0  # the first beyond what is learned from
_POLL_S = 0.25
_LOST = 10  # percent of the packets

Verdicts = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Host:
    """One host of the job: its namespace, its address and its port of the bridge."""

    place: Namespace
    address: str
    port: str


def address(host: int) -> str:
    """The address of a host in the job's network."""
    return f"{_NETWORK}.{host + 1}"


@contextlib.contextmanager
def joined() -> Iterator[list[Host]]:
    """The hosts, all on one bridge; UnavailableError where that cannot be."""
    pid = os.getpid()
    bridge = f"hpb{pid}"
    with contextlib.ExitStack() as stack:
        hosts = [
            Host(stack.enter_context(namespace(f"hostpulse-peers-{pid}-{number}")), address(number), f"h{number}p{pid}")
            for number in range(HOSTS)
        ]
        HERE.ip("link", "add", bridge, "type", "bridge")
        stack.callback(HERE.ip, "link", "delete", bridge)
        HERE.ip("address", "add", f"{_NETWORK}.254/24", "dev", bridge)
        HERE.ip("link", "set", bridge, "up")
        for host in hosts:
            join(End(HERE, host.port), End(host.place, "eth0", f"{host.address}/24"))
            HERE.ip("link", "set", host.port, "master", bridge)
        yield hosts


@contextlib.contextmanager
def lossy(port: str) -> Iterator[None]:
    """A share of the job's packets are dropped as they come out of a host: those that it sent, which it sends again."""
    nft, name = binary("nft"), f"hpl{os.getpid()}"
    run(
        nft,
        f"add table netdev {name}; "
        f'add chain netdev {name} in {{ type filter hook ingress device "{port}" priority 0; }}; '
        f"add rule netdev {name} in tcp dport {PORT} numgen random mod 100 < {_LOST} drop",
    )
    try:
        yield
    finally:
        run(nft, f"delete table netdev {name}")


@contextlib.contextmanager
def running(*command: str) -> Iterator[None]:
    """A program for as long as the block runs."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(15)


def _verdicts(detector: Server) -> Verdicts:
    return {verdict["instance"]: verdict for verdict in detector.get("/api/v1/verdicts").json()}


def measure(baseline_s: int, quiet_s: float, folder: Path) -> dict[str, Any]:
    """Learn, be quiet for a while, then lose packets of one host."""
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(joined())
        for host, following in zip(hosts, hosts[1:] + hosts[:1], strict=True):
            program = [*host.place.prefix, sys.executable, "-m"]
            stack.enter_context(running(*program, "bench.peers.traffic", host.address, following.address))
            stack.enter_context(running(*program, "exporter", f"--web.listen-address={host.address}:{_PORT}"))
        targets = ",".join(f"host{n}@{GROUP}=http://{host.address}:{_PORT}" for n, host in enumerate(hosts))
        flags = (f"--source.exporter.targets={targets}", f"--baseline.duration={baseline_s}s", "--state.directory=")
        detector = stack.enter_context(start_detector(folder, *flags, ready=None))
        limit_s = baseline_s + _LEARN_LIMIT_S
        wait_until(lambda: len(_compared(detector)) == HOSTS, limit_s, lambda: f"peers: {_verdicts(detector)}")
        quiet = _watch(detector, quiet_s)
        with lossy(hosts[SICK].port):
            fault = _watch(detector, _FAULT_LIMIT_S)
    sick = f"host{SICK}"
    seen = fault[sick]
    return {
        "quiet_s": quiet_s,
        "quiet_active": _active(quiet),
        "sick": sick,
        "peers_over_bound_s": seen.over_s,
        "active_s": seen.active_s,
        "subsystem": seen.subsystem,
        "others_active": sorted(set(_active(fault)) - {sick}),
    }


@dataclass(slots=True)
class Seen:
    """After how many seconds a host's peers' score was over the bound and it had an episode; NaN where never."""

    over_s: float = math.nan
    active_s: float = math.nan
    subsystem: str = ""


def _active(seen: dict[str, Seen]) -> list[str]:
    return sorted(name for name, one in seen.items() if one.subsystem)


def _compared(detector: Server) -> Verdicts:
    return {name: verdict for name, verdict in _verdicts(detector).items() if "peers" in verdict["detectors"]}


def _watch(detector: Server, duration_s: float) -> dict[str, Seen]:
    """What became of each host for so long."""
    begun_s, seen, never = time.monotonic(), defaultdict[str, Seen](Seen), Event()
    while (elapsed_s := time.monotonic() - begun_s) < duration_s:
        for name, verdict in _verdicts(detector).items():
            one = seen[name]
            if verdict["active"] and not one.subsystem:
                one.active_s, one.subsystem = elapsed_s, verdict["subsystem"]
            if math.isnan(one.over_s) and (verdict["detectors"].get("peers") or 0.0) > 1.0:
                one.over_s = elapsed_s
        never.wait(_POLL_S)
    return seen


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print what was seen and, where asked to, one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.live", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--baseline", type=within(int, 30, DAY_S), default=120, help="seconds that are learned")
    parser.add_argument("--quiet", type=within(float, 1, DAY_S), default=60.0, help="seconds without a fault")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(arguments.baseline, arguments.quiet, Path(folder))
    except UnavailableError as error:
        print(f"python -m bench.peers.live: {error}", file=sys.stderr)
        return 1
    print("\n".join(f"{name:<20} {value}" for name, value in result.items()))
    if arguments.json:
        print(json.dumps({name: None if value != value else value for name, value in result.items()}))  # NaN is no JSON
    return 0


if __name__ == "__main__":
    sys.exit(main())
