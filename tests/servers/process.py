"""A child process that serves on a loopback port of the kernel's choice: started, awaited, logged, ended by its PID."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import requests

T = TypeVar("T")
READY_LIMIT_S = 60.0  # a machine with much else to do takes half of that to import a program
_POLL_S = 0.02
_STOP_LIMIT_S = 15.0
_REQUEST_LIMIT_S = 10.0
_LISTENING = "0A"  # include/net/tcp_states.h: TCP_LISTEN

running: list[Server] = []


class ServerFailedError(AssertionError):
    """A server ended or did not become ready; the text holds the end of its log."""


def wait_until(condition: Callable[[], T | None], limit_s: float, what: str | Callable[[], str]) -> T:
    """Ask ``condition`` until it answers something true, and return that; AssertionError says ``what`` never came."""
    deadline = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit_s:g} s: {what() if callable(what) else what}; last: {answer!r}")
        time.sleep(_POLL_S)


@dataclass(eq=False)
class Server:
    """A running server. A context manager that stops it."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    port: int = 0

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def address(self) -> str:
        """``127.0.0.1:port``."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``, without a slash at the end."""
        return f"http://{self.address}"

    def get(self, path: str, **parameters: str) -> requests.Response:
        """GET ``path``; raises requests' errors, also for a status of 400 and above."""
        reply = requests.get(self.url + path, params=parameters, timeout=_REQUEST_LIMIT_S)
        reply.raise_for_status()
        return reply

    def logged(self, lines: int = 40) -> str:
        """The last lines of what it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> int:
        """SIGTERM, then SIGKILL after a bound; returns the exit status. Stopping twice is harmless."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(_STOP_LIMIT_S)
        with contextlib.suppress(ValueError):
            running.remove(self)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Exception):
            error.add_note(f"--- log of {self.name} ({self.log}) ---\n{self.logged()}")
        self.stop()


S = TypeVar("S", bound=Server)


def launch(
    kind: type[S],
    name: str,
    command: Sequence[str | Path],
    folder: Path,
    ready: str | None,
    environment: Mapping[str, str] | None = None,
    working_folder: Path | None = None,
) -> S:
    """Start ``command``, which must listen on 127.0.0.1:0, and wait until it listens and answers 200 on ``ready``.

    With ``ready`` None it only has to listen: for a server inside a network namespace that cannot be asked from here.
    The log goes to ``folder/name.log``. Raises ``ServerFailedError`` with the log's end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            cwd=working_folder or folder,
        )
    server = kind(name, process, log)
    running.append(server)
    with contextlib.ExitStack() as unless_ready:
        unless_ready.callback(server.stop)
        try:
            wait_until(lambda: _is_ready(server, ready), READY_LIMIT_S, lambda: f"{name} ready")
        except AssertionError as error:
            raise ServerFailedError(f"{error}\n--- log of {name} ---\n{server.logged()}") from None
        unless_ready.pop_all()
    return server


def _is_ready(server: Server, path: str | None) -> bool:
    if server.process.poll() is not None:
        raise ServerFailedError(f"{server.name} ended with status {server.process.returncode}")
    if not server.port:
        server.port = next(iter(listening_ports(server.pid)), 0)
    if not server.port or path is None:
        return bool(server.port)
    try:
        return requests.get(server.url + path, timeout=_REQUEST_LIMIT_S).status_code == 200
    except requests.ConnectionError:
        return False


def listening_ports(pid: int) -> Iterator[int]:
    """TCP ports (IPv4) that ``pid`` listens on, read in its own network namespace; proc_pid_fd(5), proc_pid_net(5)."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            kind, _, inode = os.readlink(descriptor).partition(":")
            if kind == "socket":
                inodes.add(inode.strip("[]"))
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == _LISTENING and columns[9] in inodes:
            yield int(columns[1].rpartition(":")[2], 16)


@atexit.register
def _stop_all() -> None:
    for server in reversed(running.copy()):
        server.stop()
