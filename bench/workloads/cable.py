"""A network namespace joined to this one by a virtual cable: two processes of one job send over it, not over loopback.

https://man7.org/linux/man-pages/man4/veth.4.html
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.servers import binary, environment

_HERE, _THERE = "198.51.100.1/24", "198.51.100.2/24"  # a range kept for documentation: nothing else has these addresses
_LIMIT_S = 30


def allowed() -> bool:
    """Whether this process may make network namespaces."""
    return os.geteuid() == 0


@dataclass(frozen=True, slots=True)
class Cable:
    """Its devices here and in the namespace, and what to put before a command that is to run there."""

    here: str
    there: str
    prefix: tuple[str, ...]


@contextlib.contextmanager
def cable() -> Iterator[Cable]:
    """Laid for as long as the block runs."""
    ip, namespace = str(binary("ip")), f"hostpulse-work-{os.getpid()}"
    here, there = f"hw{os.getpid()}", "eth0"

    def run(*words: str, check: bool = True) -> None:
        command = [ip, *words]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stderr}"

    run("netns", "add", namespace)
    try:
        run("link", "add", here, "type", "veth", "peer", "name", there, "netns", namespace)
        run("addr", "add", _HERE, "dev", here)
        run("link", "set", here, "up")
        run("-n", namespace, "addr", "add", _THERE, "dev", there)
        run("-n", namespace, "link", "set", there, "up")
        run("-n", namespace, "link", "set", "lo", "up")
        yield Cable(here, there, (ip, "netns", "exec", namespace))
    finally:
        run("netns", "delete", namespace, check=False)  # the cable goes with it
