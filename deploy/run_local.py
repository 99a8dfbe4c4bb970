"""``make run``: the exporter and the detector side by side on this machine, until one ends or Ctrl-C.

The detector writes its live view to the terminal; the exporter's words go to a file that is shown when it fails.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from detector.listening import listen

ROOT = Path(__file__).resolve().parents[1]
_READY_LIMIT_S = 20.0
_STOP_LIMIT_S = 10.0
_POLL_S = 0.05


class StoppedError(Exception):
    """The user asked to end."""


class Ending:
    """Notes that the user asked to end. A handler that raised would leave what it interrupts half done: a lock of
    ``subprocess`` held for ever, or a child that nobody knows of."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        for number in self.SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def pause(self) -> None:
        """Wait a moment. Raises StoppedError where the user asked to end."""
        time.sleep(_POLL_S)
        if self.asked:
            raise StoppedError


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0 after Ctrl-C or SIGTERM, else that of the program which ended by itself."""
    options = _parse(arguments)
    ending = Ending()
    try:
        with contextlib.ExitStack() as stack:
            return _serve(options, stack, ending)
    except StoppedError:
        return 0


def _serve(options: argparse.Namespace, stack: contextlib.ExitStack, ending: Ending) -> int:
    wanted = {"DETECTOR_ADDRESS": options.detector_address}
    if not options.prometheus:
        wanted["EXPORTER_ADDRESS"] = options.exporter_address
    detector_address, *addresses = _free(wanted)
    exporter, source = None, f"--source.prometheus.url={options.prometheus}"
    for address in addresses:
        log = options.folder / f"exporter-{address.rpartition(':')[2]}.log"
        exporter = stack.enter_context(_exporter(address, log, ending))
        source = f"--source.exporter.targets=http://{address}"
        print(f"exporter  http://{address}/  (its log: {os.path.relpath(log)})")
    print(f"detector  http://{detector_address}/  (Ctrl-C ends)", flush=True)
    flags = [source, f"--web.listen-address={detector_address}", f"--state.directory={options.folder / 'state'}"]
    if options.baseline:
        flags.append(f"--baseline.duration={options.baseline}")
    command = [sys.executable, "-m", "detector", "run", *flags, *options.detector_flags]
    detector = stack.enter_context(_child(command))
    while detector.poll() is None:
        if exporter is not None and exporter.poll() is not None:
            raise SystemExit(_failure("the exporter ended", exporter, log))
        ending.pause()
    return detector.returncode


@contextlib.contextmanager
def _child(command: list[str], log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A child that is ended on the way out. In a session of its own Ctrl-C misses it: its only signal is ours."""
    with contextlib.ExitStack() as stack:
        stream = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = stack.enter_context(log.open("wb"))
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _exporter(address: str, log: Path, ending: Ending) -> Iterator[subprocess.Popen[bytes]]:
    """The exporter, ready to be read."""
    with _child([sys.executable, "-m", "exporter", f"--web.listen-address={address}"], log) as process:
        deadline = time.monotonic() + _READY_LIMIT_S
        while not _answers(f"http://{address}/-/ready"):
            if process.poll() is not None:
                raise SystemExit(_failure("the exporter did not start", process, log))
            if time.monotonic() > deadline:
                raise SystemExit(_failure(f"the exporter was not ready within {_READY_LIMIT_S:.0f} s", process, log))
            ending.pause()
        yield process


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:  # noqa: S310 (our own loopback address)
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _failure(what: str, process: subprocess.Popen[bytes], log: Path) -> str:
    said = log.read_text(errors="replace").splitlines()[-15:]
    return "\n".join([f"make run: {what} (status {process.poll()}); its last words:", *(f"  {line}" for line in said)])


def _free(wanted: Mapping[str, str]) -> list[str]:
    """These addresses by the variables that give them, ports chosen by the kernel where they say 0. Exits with what to
    do where any cannot be had."""
    free, taken, others = [], [], []
    for variable, address in wanted.items():
        host, port = _host_and_port(address, variable)
        try:
            with listen(address) as server:
                free.append(f"{host}:{server.getsockname()[1]}")
        except OSError as error:
            taken.append(f"{address} ({error.strerror})")
            others.append(f"{variable}={host}:{port + 10 if port else 0}")
    if taken:
        raise SystemExit(
            f"make run: cannot listen on {' and '.join(taken)}. Is another hostpulse running? "
            f"Choose a free port: make run {' '.join(others)}"
        )
    return free


def _host_and_port(address: str, variable: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise SystemExit(f"make run: {variable}={address} is no HOST:PORT such as 127.0.0.1:17720")
    return host, int(port)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument(
        "--prometheus", default="", metavar="URL", help="judge what this Prometheus scrapes; no exporter"
    )
    parser.add_argument("--exporter-address", default="127.0.0.1:17720", metavar="HOST:PORT")
    parser.add_argument("--detector-address", default="127.0.0.1:17721", metavar="HOST:PORT")
    parser.add_argument("--baseline", default="", metavar="DURATION", help="time to learn before judging, such as 2m")
    parser.add_argument("--folder", default=ROOT / ".cache" / "run", type=Path, help="where logs and models are kept")
    parser.add_argument("detector_flags", nargs="*", help="further flags of hostpulse-detector run, after --")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
