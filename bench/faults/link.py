"""A network namespace joined to this host by a virtual cable, and a steady TCP transfer into it.

What is done to packets is done at the far end, inside the namespace, so that the host's own network stays as it is;
retransmissions are counted where the sender is, on the host.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Self

from bench.faults.journal import Journal
from tests.servers import binary, environment
from tests.servers.namespace import HERE, End, Namespace, join, namespace
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


class Link:
    """The cable into a namespace ``far``, as a context manager. ``device`` is its end on the host, with the address
    ``here``; the other end has ``there``."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._stack = journal, contextlib.ExitStack()
        self.far, self.device = Namespace(f"hostpulse-faults-{os.getpid()}"), f"hpf{os.getpid()}"
        self.here, self.there = addresses(os.getpid())
        self._children: list[subprocess.Popen[bytes]] = []

    def spawn(self, *command: str | Path, inside: bool = False) -> subprocess.Popen[bytes]:
        """A process that lives as long as the link."""
        words = [str(word) for word in ((self.far if inside else HERE).prefix + command)]
        silent = subprocess.DEVNULL
        child = subprocess.Popen(words, env=environment(), stdout=silent, stderr=silent, start_new_session=True)
        self._journal.ends(child.pid)
        self._children.append(child)
        return child

    def transfer(self) -> None:
        """Begin the steady transfer from the host into the namespace."""
        iperf = binary("iperf3")
        self.spawn(iperf, "--server", "--bind", self.there, inside=True)
        wait_until(lambda: ":5201" in self.far.run("ss", "-ltn"), 10.0, "iperf3 listens")
        self.spawn(iperf, "--client", self.there, "--bitrate", _TRANSFER, "--time", "86000")
        connected = lambda: self.here in self.far.run("ss", "-tn", "state", "established")  # noqa: E731
        wait_until(connected, 10.0, "iperf3 sends")

    def __enter__(self) -> Self:
        # The cable goes with the namespace; deleting it by name as well helps where it was not moved yet.
        for end in (("link", "del", self.device), ("netns", "del", self.far.name)):
            self._journal.note("run", str(binary("ip")), *end)
        with contextlib.ExitStack() as stack:
            stack.enter_context(namespace(self.far.name))
            join(End(HERE, self.device, f"{self.here}/30"), End(self.far, "eth0", f"{self.there}/30"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.wait(timeout=10)
        self._stack.close()
