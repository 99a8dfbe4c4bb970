"""Real faults: stress-ng on this host, dropped packets between two network namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.servers import binary, environment
from tests.servers.namespace import End, Namespace, join, namespace
from tests.servers.process import wait_until

INSIDE, OUTSIDE = "192.0.2.1", "192.0.2.2"  # a range kept for documentation: nothing else has these addresses
DEVICE = "eth0"
_CLONE_NEWNET = 0x40000000  # linux/sched.h
_TRANSFER = "40M"  # bits per second: well below what two busy cores can move


def cpu_waiting_s() -> float:
    """How long some task has waited for a CPU since the host started; https://docs.kernel.org/accounting/psi.html."""
    some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    return int(some.rpartition("total=")[2]) / 1e6


@contextlib.contextmanager
def stress(*arguments: str) -> Iterator[None]:
    """``stress-ng`` with these arguments for as long as the block runs."""
    command = [str(binary("stress-ng")), *arguments, "--timeout", "300"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, f"stress-ng {' '.join(arguments)} ended by itself with {process.returncode}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _enter(namespace: str) -> None:
    with Path(namespace).open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


class Link:
    """Two network namespaces joined by a virtual cable, with a steady TCP transfer from the inner to the outer one."""

    def __init__(self) -> None:
        self.inner, self.outer = (Namespace(f"hostpulse-{side}-{os.getpid()}") for side in ("in", "out"))
        self._stack = contextlib.ExitStack()
        self._children: list[subprocess.Popen[bytes]] = []

    @contextlib.contextmanager
    def thread_inside(self) -> Iterator[ThreadPoolExecutor]:
        """One thread whose sockets belong to the inner namespace; setns(2) moves a thread, not the process."""
        with ThreadPoolExecutor(1, initializer=_enter, initargs=(f"/run/netns/{self.inner.name}",)) as pool:
            yield pool

    def __enter__(self) -> Link:
        with contextlib.ExitStack() as stack:
            for side in (self.inner, self.outer):
                stack.enter_context(namespace(side.name))
            join(End(self.inner, DEVICE, f"{INSIDE}/24"), End(self.outer, DEVICE, f"{OUTSIDE}/24"))
            stack.callback(self._end_children)
            self._transfer()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end_children(self) -> None:
        for child in self._children:
            child.kill()
            child.wait(timeout=10)

    def _transfer(self) -> None:
        iperf = str(binary("iperf3"))
        self._spawn(self.outer, iperf, "--server", "--bind", OUTSIDE)
        wait_until(lambda: ":5201" in self.outer.run("ss", "-ltn"), 60.0, "iperf3 listens")
        self._spawn(self.inner, iperf, "--client", OUTSIDE, "--bitrate", _TRANSFER, "--time", "3600")

    def _spawn(self, side: Namespace, *command: str) -> None:
        self._children.append(
            subprocess.Popen(
                [*side.prefix, *command],
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    @contextlib.contextmanager
    def loss(self, percent: int) -> Iterator[None]:
        """Drop that share of the TCP packets that arrive at the outer end, at random."""
        nft = str(binary("nft"))
        table = (
            "add table inet faults; "
            "add chain inet faults input { type filter hook input priority 0; }; "
            f"add rule inet faults input meta l4proto tcp numgen random mod 100 < {percent} counter drop"
        )
        self.outer.run(nft, table)
        try:
            yield
        finally:
            self.outer.run(nft, "delete table inet faults")
