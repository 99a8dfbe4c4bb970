"""The hosts of the live comparison: joined by a bridge, and one of them loses what it sends."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from bench.peers.live import HOSTS, SICK, Host, joined, lossy, running
from tests.servers import wait_until

_LEAST = 5


def _sent_again(host: Host) -> int:
    """Segments that the host sent anew; proc_pid_net(5)."""
    names, values = host.place.run("grep", "^Tcp:", "/proc/net/snmp").splitlines()
    return int(dict(zip(names.split(), values.split(), strict=True))["RetransSegs"])


def test_lost_packets_are_sent_again_by_the_host_that_lost_them() -> None:
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(joined())
        assert len({host.address for host in hosts}) == HOSTS
        pair = hosts[SICK], hosts[SICK + 1]
        for one, other in (pair, pair[::-1]):
            program = (*one.place.prefix, sys.executable, "-m", "bench.peers.traffic")
            stack.enter_context(running(*program, one.address, other.address))
        received = Path(f"/sys/class/net/{pair[0].port}/statistics/rx_bytes")
        wait_until(lambda: int(received.read_text()) > 1 << 20, 60.0, "the job sends")
        before = [_sent_again(host) for host in pair]
        with lossy(hosts[SICK].port):
            wait_until(lambda: _sent_again(pair[0]) > before[0] + _LEAST, 60.0, lambda: f"{_sent_again(pair[0])} again")
        assert _sent_again(pair[1]) - before[1] < _LEAST
    wait_until(lambda: not received.exists(), 60.0, "the cables are gone")
