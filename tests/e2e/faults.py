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


def _run(*command: str) -> str:
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


class Link:
    """Two network namespaces joined by a virtual cable, with a steady TCP transfer from the inner to the outer one."""

    @staticmethod
    def allowed() -> bool:
        """Whether this process may make network namespaces."""
        return os.geteuid() == 0

    def __init__(self) -> None:
        assert self.allowed(), "network namespaces need root"
        self._ip = str(binary("ip"))
        self.inner, self.outer = (f"hostpulse-{side}-{os.getpid()}" for side in ("in", "out"))
        self._children: list[subprocess.Popen[bytes]] = []

    def prefix(self, namespace: str) -> tuple[str, ...]:
        """What to put before a command to run it in a namespace."""
        return (self._ip, "netns", "exec", namespace)

    @contextlib.contextmanager
    def thread_inside(self) -> Iterator[ThreadPoolExecutor]:
        """One thread whose sockets belong to the inner namespace; setns(2) moves a thread, not the process."""
        with ThreadPoolExecutor(1, initializer=_enter, initargs=(f"/run/netns/{self.inner}",)) as pool:
            yield pool

    def __enter__(self) -> Link:
        for namespace in (self.inner, self.outer):
            _run(self._ip, "netns", "add", namespace)
        with contextlib.ExitStack() as undo:
            undo.callback(self._delete)
            _run(self._ip, "link", "add", DEVICE, "netns", self.inner, "type", "veth", "peer", "name", DEVICE,
                 "netns", self.outer)  # fmt: skip
            for namespace, address in ((self.inner, INSIDE), (self.outer, OUTSIDE)):
                _run(self._ip, "-n", namespace, "addr", "add", f"{address}/24", "dev", DEVICE)
                _run(self._ip, "-n", namespace, "link", "set", DEVICE, "up")
                _run(self._ip, "-n", namespace, "link", "set", "lo", "up")
            self._transfer()
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.wait(timeout=10)
        self._delete()

    def _delete(self) -> None:
        for namespace in (self.inner, self.outer):
            subprocess.run([self._ip, "netns", "del", namespace], check=False, timeout=30)

    def _transfer(self) -> None:
        iperf = str(binary("iperf3"))
        self._spawn(self.outer, iperf, "--server", "--bind", OUTSIDE)
        listening = lambda: ":5201" in _run(*self.prefix(self.outer), "ss", "-ltn")  # noqa: E731
        wait_until(listening, 10.0, "iperf3 listens")
        self._spawn(self.inner, iperf, "--client", OUTSIDE, "--bitrate", _TRANSFER, "--time", "3600")

    def _spawn(self, namespace: str, *command: str) -> None:
        self._children.append(
            subprocess.Popen(
                [*self.prefix(namespace), *command],
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
        _run(*self.prefix(self.outer), nft, table)
        try:
            yield
        finally:
            _run(*self.prefix(self.outer), nft, "delete table inet faults")
