"""A network namespace joined to this host by a virtual cable, and a steady TCP transfer into it.

What is done to packets is done at the far end, inside the namespace, so that the host's own network stays as it is;
retransmissions are counted where the sender is, on the host. https://man7.org/linux/man-pages/man7/network_namespaces.7.html
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Self

from bench.faults.journal import Journal
from tests.servers import UnavailableError, binary, environment
from tests.servers.process import wait_until

_TRANSFER = "40M"  # bits per second


def addresses(pid: int) -> tuple[str, str]:
    """The host's and the inner end's address, of four that no other process takes and that belong to nobody.

    They are of the range that is set aside for benchmarks, https://datatracker.ietf.org/doc/html/rfc2544#appendix-C.

    >>> addresses(65)
    ('198.18.1.5', '198.18.1.6')
    """
    third, fourth = divmod(pid % (1 << 14), 64)
    return f"198.18.{third}.{4 * fourth + 1}", f"198.18.{third}.{4 * fourth + 2}"


def run(*command: str | Path) -> str:
    """Output of a command; UnavailableError with what it complained of: this host does not allow what is tried."""
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise UnavailableError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Link:
    """The namespace and the cable, as a context manager. ``device`` is its end on the host, with the address ``here``;
    the other end has ``there``."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._ip = journal, binary("ip")
        self.namespace, self.device = f"hostpulse-faults-{os.getpid()}", f"hpf{os.getpid()}"
        self.here, self.there = addresses(os.getpid())
        self._children: list[subprocess.Popen[bytes]] = []

    def inside(self, *command: str | Path) -> str:
        """Output of a command that runs in the namespace."""
        return run(self._ip, "netns", "exec", self.namespace, *command)

    def spawn(self, *command: str | Path, inside: bool = False) -> subprocess.Popen[bytes]:
        """A process that lives as long as the link."""
        prefix = [self._ip, "netns", "exec", self.namespace] if inside else []
        words = [str(word) for word in (*prefix, *command)]
        silent = subprocess.DEVNULL
        child = subprocess.Popen(words, env=environment(), stdout=silent, stderr=silent, start_new_session=True)
        self._journal.ends(child.pid)
        self._children.append(child)
        return child

    def transfer(self) -> None:
        """Begin the steady transfer from the host into the namespace."""
        iperf = binary("iperf3")
        self.spawn(iperf, "--server", "--bind", self.there, inside=True)
        wait_until(lambda: ":5201" in self.inside("ss", "-ltn"), 10.0, "iperf3 listens")
        self.spawn(iperf, "--client", self.there, "--bitrate", _TRANSFER, "--time", "86000")
        connected = lambda: self.here in self.inside("ss", "-tn", "state", "established")  # noqa: E731
        wait_until(connected, 10.0, "iperf3 sends")

    def __enter__(self) -> Self:
        # The cable goes with the namespace; deleting it by name as well helps where it was not moved yet.
        for end in (("link", "del", self.device), ("netns", "del", self.namespace)):
            self._journal.note("run", str(self._ip), *end)
        run(self._ip, "netns", "add", self.namespace)
        run(self._ip, "link", "add", self.device, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        run(self._ip, "addr", "add", f"{self.here}/30", "dev", self.device)
        run(self._ip, "link", "set", self.device, "up")
        run(self._ip, "-n", self.namespace, "addr", "add", f"{self.there}/30", "dev", "eth0")
        for device in ("eth0", "lo"):
            run(self._ip, "-n", self.namespace, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.wait(timeout=10)
        run(self._ip, "netns", "del", self.namespace)
