"""Network namespaces, and the virtual cables that join them, made with iproute2.

https://man7.org/linux/man-pages/man7/network_namespaces.7.html, https://man7.org/linux/man-pages/man4/veth.4.html
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.debian import UnavailableError
from tests.servers.packages import binary, environment

_LIMIT_S = 60


def run(*command: str | Path) -> str:
    """Output of a command; UnavailableError with what it complained of: this host does not allow what is tried."""
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    if done.returncode:
        raise UnavailableError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Namespace:
    """One that is there; without a name the one that this process is in."""

    name: str = ""

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to put before a command that is to run inside."""
        return (str(binary("ip")), "netns", "exec", self.name) if self.name else ()

    def run(self, *command: str | Path) -> str:
        """As ``run``, inside."""
        return run(*self.prefix, *command)

    def ip(self, *words: str) -> str:
        """As ``run``, of iproute2 inside."""
        return run(binary("ip"), *(("-n", self.name) if self.name else ()), *words)


HERE = Namespace()


def allowed() -> bool:
    """Whether this process may make network namespaces."""
    return os.geteuid() == 0


@contextlib.contextmanager
def namespace(name: str) -> Iterator[Namespace]:
    """A new one for as long as the block runs; raises UnavailableError where there can be none."""
    if not allowed():
        raise UnavailableError("making a network namespace needs root")
    HERE.ip("netns", "add", name)
    try:
        made = Namespace(name)
        made.ip("link", "set", "lo", "up")
        yield made
    finally:
        try:
            _cut(Namespace(name))
        finally:
            HERE.ip("netns", "del", name)


def _cut(place: Namespace) -> None:
    """Take the cables out: the kernel keeps a namespace, and what is in it, while connections of dead programs end."""
    while cables := [each["ifname"] for each in json.loads(place.ip("-json", "link", "show", "type", "veth")) if each]:
        place.ip("link", "delete", cables[0])  # and with it the other end, which may be here too


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: a device in a namespace, with its address and the length of its network's prefix, if any."""

    place: Namespace
    device: str
    address: str = ""


def join(one: End, other: End) -> None:
    """Lay a cable, both ends up. It goes with either of the namespaces."""
    HERE.ip("link", "add", *_of(one), "type", "veth", "peer", "name", *_of(other))
    for end in (one, other):
        if end.address:
            end.place.ip("addr", "add", end.address, "dev", end.device)
        end.place.ip("link", "set", end.device, "up")


def _of(end: End) -> tuple[str, ...]:
    return (end.device, "netns", end.place.name) if end.place.name else (end.device,)
