"""``make run``: starts both programs, says what is wrong, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import requests

from deploy.run_local import Ending, StoppedError
from tests import servers
from tests.tree import ROOT

FREE = "127.0.0.1:0"
LIMIT_S = 40


@dataclass(frozen=True)
class Run:
    """A launcher and the file of what it and the detector print."""

    process: subprocess.Popen[bytes]
    said: Path

    def ready(self, program: str) -> None:
        """Wait until the launcher says where the program listens, and that answers."""

        def answers() -> bool:
            assert self.process.poll() is None, self.said.read_text()
            found = re.search(rf"^{program} +(http://\S+)/", self.said.read_text(), flags=re.MULTILINE)
            try:
                return found is not None and requests.get(f"{found[1]}/-/healthy", timeout=5).ok
            except requests.ConnectionError:
                return False

        servers.wait_until(answers, LIMIT_S, self.said.read_text)

    def children(self) -> list[psutil.Process]:
        """The programs that it runs."""
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def _running(folder: Path, *flags: str) -> Iterator[Run]:
    """The launcher on free ports."""
    launcher = [sys.executable, str(ROOT / "deploy/run_local.py"), f"--detector-address={FREE}", *flags]
    said = folder / "said.txt"
    with said.open("wb") as stream:
        command = [*launcher, f"--folder={folder / 'kept'}", "--", "--view=off"]
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield Run(process, said)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(LIMIT_S)


def _ended(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


def test_make_hands_on_what_it_is_told() -> None:
    told = ["PROMETHEUS=http://h:9090", "BASELINE=10m", "FLAGS=--view=plain", "DETECTOR_ADDRESS=127.0.0.1:17731"]
    made = ["-o", ".venv/made"]  # the environment is not what is tried
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "-n", *made, "run", *told]
    run = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=True)
    words = shlex.split(run.stdout.replace("\\\n", " "))
    assert words[words.index("deploy/run_local.py") + 1 :] == [
        "--prometheus=http://h:9090",
        "--baseline=10m",
        "--exporter-address=127.0.0.1:17720",
        "--detector-address=127.0.0.1:17731",
        "--",
        "--view=plain",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_both_programs_with_success(tmp_path: Path, number: signal.Signals) -> None:
    with _running(tmp_path, f"--exporter-address={FREE}") as run:
        run.ready("exporter")
        run.ready("detector")
        children = run.children()
        assert len(children) >= 2
        run.process.send_signal(number)
        assert run.process.wait(LIMIT_S) == 0
        assert _ended(children)
        assert "Traceback" not in run.said.read_text()


def test_signal_ends_a_pause_and_nothing_that_is_half_done() -> None:
    before = {number: signal.getsignal(number) for number in Ending.SIGNALS}
    try:
        ending = Ending()
        ending.pause()
        for number in before:
            signal.raise_signal(number)  # in the middle of a poll this would have left the lock of the child held
        assert ending.asked
        with pytest.raises(StoppedError):
            ending.pause()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_exporter_that_dies_ends_the_run_and_shows_its_log(tmp_path: Path) -> None:
    with _running(tmp_path, f"--exporter-address={FREE}") as run:
        run.ready("detector")
        children = run.children()
        (exporter,) = (child for child in children if "exporter" in child.cmdline())
        os.kill(exporter.pid, signal.SIGKILL)
        assert run.process.wait(LIMIT_S) == 1
        assert _ended(children)
        assert "the exporter ended (status -9); its last words:" in run.said.read_text()


def test_prometheus_takes_the_exporters_place(tmp_path: Path) -> None:
    with (
        servers.start_prometheus(tmp_path / "prometheus") as prometheus,
        _running(tmp_path, f"--prometheus={prometheus.url}") as run,
    ):
        run.ready("detector")
        commands = [child.cmdline() for child in run.children()]
        assert [f"--source.prometheus.url={prometheus.url}" in command for command in commands] == [True]


def test_ports_that_are_taken_are_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        exporter, detector = (f"127.0.0.1:{one.getsockname()[1]}" for one in (first, second))
        with _running(tmp_path, f"--exporter-address={exporter}", f"--detector-address={detector}") as run:
            assert run.process.wait(LIMIT_S) == 1
        reason = "(Address already in use)"
        assert f"cannot listen on {detector} {reason} and {exporter} {reason}. " in run.said.read_text()
        assert re.search(r"make run DETECTOR_ADDRESS=127\S+ EXPORTER_ADDRESS=127\S+$", run.said.read_text())


@pytest.mark.parametrize("address", ["17720", "127.0.0.1:", "127.0.0.1:99999", "localhost:http"])
def test_address_that_is_none_is_told_with_its_variable(tmp_path: Path, address: str) -> None:
    with _running(tmp_path, f"--exporter-address={address}") as run:
        assert run.process.wait(LIMIT_S) == 1
    assert f"EXPORTER_ADDRESS={address} is no HOST:PORT" in run.said.read_text()


def test_name_that_no_host_can_have_is_told_with_its_variable(tmp_path: Path) -> None:
    with _running(tmp_path, "--exporter-address=a..b:0") as run:
        assert run.process.wait(LIMIT_S) == 1
    assert "cannot listen on a..b:0 (" in run.said.read_text()
    assert "make run EXPORTER_ADDRESS=" in run.said.read_text()
