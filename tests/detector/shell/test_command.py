"""The program as a user starts it, with a running exporter: it judges, reloads, resumes, and ends when told to."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.servers import Server, start_detector, start_exporter, wait_until
from tests.tree import ROOT

BASELINE = "--baseline.duration=30s"
LEARNED_LIMIT_S = 90.0  # learning takes 30 s of samples, and most of them are there already
END_LIMIT_S = 8.0


@pytest.fixture(scope="module", autouse=True)
def exporters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """Two of them, started before anything else: what they remember is learned from, by the last tests, the sooner the
    more it is. The second is for one test."""
    with (
        start_exporter(tmp_path_factory.mktemp("exporter")) as first,
        start_exporter(tmp_path_factory.mktemp("exporter")) as second,
    ):
        yield first, second


@pytest.fixture
def exporter(exporters: tuple[Server, Server]) -> Server:
    return exporters[0]


def targets(exporter: Server) -> str:
    return f"--source.exporter.targets={exporter.url}"


def run(*arguments: str, limit_s: float = 30.0, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program to its end."""
    command = [sys.executable, "-m", "detector", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=variables, check=False)


def value(server: Server, name: str, **labels: str) -> float | None:
    """A sample of the detector's ``/metrics`` that has those labels; None without one."""
    for family in text_string_to_metric_families(server.get("/metrics").text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


def verdicts(detector: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = detector.get("/api/v1/verdicts").json()
    return found


def has_score(detector: Server) -> bool:
    return value(detector, "hostpulse_anomaly_score", detector="fused") is not None


def end(detector: Server, number: signal.Signals = signal.SIGTERM) -> float:
    """Send a signal; how long the program took to end, with status 0."""
    begun_s = time.monotonic()
    detector.process.send_signal(number)
    assert detector.process.wait(10) == 0, detector.logged()
    return time.monotonic() - begun_s


def test_version_is_said_in_one_line() -> None:
    done = run("version")
    assert done.returncode == 0
    assert re.fullmatch(r"hostpulse-detector \d+\.\d+\S* \(Python 3\.\d+\.\d+\)\n", done.stdout)


@pytest.mark.parametrize("argument", ["version", "--help"])
def test_reader_that_has_had_enough_ends_the_program_without_a_word(argument: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = printing_to(theirs, argument)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


@pytest.mark.parametrize("argument", ["explain", "--help"])
def test_full_disk_behind_standard_output_is_told(argument: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = printing_to(full.fileno(), argument)
    said = b"hostpulse-detector: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


def printing_to(descriptor: int, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "detector", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, stdout=descriptor, stderr=subprocess.PIPE, timeout=30, env=environment, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--windw.duration=3s"], "did you mean --window.duration?"),
        (["run", "--window.duration=soon"], "--window.duration: must be a duration"),
        (["once", "--config.file=/nowhere.yml"], "/nowhere.yml: cannot be read"),
    ],
)
def test_wrong_setting_ends_with_two_and_a_line(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_taken_port_ends_with_one_and_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("run", f"--web.listen-address={address}", f"--state.directory={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.endswith(f"web.listen_address: cannot listen on {address}: Address already in use\n")
    assert "Traceback" not in done.stderr


def test_name_that_no_host_can_have_ends_with_one_and_a_line(tmp_path: Path) -> None:
    done = run("run", "--web.listen-address=a..b:0", f"--state.directory={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.endswith("web.listen_address: cannot listen on a..b:0: 'a..b' is no name of a host\n")


def test_folder_that_cannot_be_used_ends_with_one_and_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("run", "--web.listen-address=127.0.0.1:0", f"--state.directory={tmp_path / 'file'}")
    assert done.returncode == 1
    assert done.stderr.endswith(f"state.directory: {tmp_path / 'file'} cannot be used: File exists\n")


def test_once_without_a_source_ends_with_one_and_a_line() -> None:
    done = run("once", "--source.exporter.targets=http://127.0.0.1:1")
    assert done.returncode == 1
    assert "no host could be judged" in done.stderr
    assert "127.0.0.1:1" in done.stderr


def test_messages_may_be_json(tmp_path: Path) -> None:
    flags = "--source.exporter.targets=http://127.0.0.1:1", "--state.directory=", "--log.format=json"
    with start_detector(tmp_path, *flags) as detector:
        wait_until(lambda: "is a target" in detector.logged(), 60, "a message")
        said = [json.loads(line) for line in detector.logged().splitlines()]
    assert ("info", "127.0.0.1:1 is a target") in [(one["level"], one["message"]) for one in said]
    assert all(one["time"].endswith("Z") for one in said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_program_ends_soon_when_told_to(number: signal.Signals, exporter: Server, tmp_path: Path) -> None:
    with start_detector(tmp_path, targets(exporter), "--state.directory=") as detector:
        wait_until(lambda: verdicts(detector), 60, "the first verdict")
        assert end(detector, number) < END_LIMIT_S


@pytest.mark.parametrize("setting", ["source.exporter.targets", "source.prometheus.url"])
def test_program_ends_soon_while_its_source_hangs(setting: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kind = setting.split(".")[1]
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        flags = f"--{setting}={url}", f"--source.{kind}.timeout=60s", "--state.directory="
        with start_detector(tmp_path, *flags) as detector:
            silent.accept()[0].close()
            silent.settimeout(5)
            assert detector.get("/-/healthy").text == "ok\n"
            assert end(detector) < END_LIMIT_S


def test_changed_file_is_read_again_and_a_bad_one_changes_nothing(exporter: Server, tmp_path: Path) -> None:
    file = tmp_path / "detector.yml"
    good = f"source: {{exporter: {{targets: [{exporter.url}]}}}}\nstate: {{directory: ''}}\n"
    file.write_text(good)
    with start_detector(tmp_path, f"--config.file={file}") as detector:
        wait_until(lambda: value(detector, "hostpulse_detector_window_seconds") == 3, 60, "the window of before")
        file.write_text(good + "window: {duraton: 5s}\n")
        bad = "hostpulse_detector_config_last_reload_successful"
        wait_until(lambda: value(detector, bad) == 0, 60, "the bad file is noticed")
        assert "did you mean window.duration?" in detector.logged()
        assert value(detector, "hostpulse_detector_window_seconds") == 3
        file.write_text(good + "window: {duration: 5s}\n")
        wait_until(lambda: value(detector, "hostpulse_detector_window_seconds") == 5, 60, "the new window")
        assert value(detector, bad) == 1
        file.write_text("")
        wait_until(lambda: value(detector, bad) == 0, 60, "the empty file is noticed")
        assert value(detector, "hostpulse_detector_hosts") == 1, "the source stays"
        file.write_text(good + "window: {duration: 5s}\n")
        wait_until(lambda: value(detector, bad) == 1, 60, "the file is whole again")
        detector.process.send_signal(signal.SIGHUP)
        wait_until(lambda: detector.logged().count("was read again") == 3, 60, "read on SIGHUP")
        assert detector.process.poll() is None


def test_changes_that_count_from_the_next_start_on_are_named_and_not_half_made(
    exporter: Server, tmp_path: Path
) -> None:
    file, one, two = tmp_path / "detector.yml", tmp_path / "one", tmp_path / "two"
    source = f"source: {{exporter: {{targets: [{exporter.url}]}}}}\n"
    before = f"{source}state: {{directory: {one}}}\n"
    file.write_text(before)
    with start_detector(tmp_path, f"--config.file={file}") as detector:
        file.write_text(f"{source}state: {{directory: {two}}}\nincidents: {{most: 7}}\n")
        wait_until(lambda: "was read again" in detector.logged(), 60, "the other folder is read")
        assert "changes of incidents, state.directory count from the next start on" in detector.logged()
        file.write_text(before)
        wait_until(lambda: detector.logged().count("was read again") == 2, 60, "the folder of before is read")
        assert detector.logged().count("from the next start on") == 1, "nothing waits for it any more"
    assert (one.exists(), two.exists()) == (True, False)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_signal_that_comes_during_the_start_ends_the_program_well_or_not_at_all(
    number: signal.Signals, exporter: Server, tmp_path: Path
) -> None:
    file, settings = tmp_path / "detector.yml", tmp_path / "settings.yml"
    os.mkfifo(file)  # reading it waits until it is written
    settings.write_text(f"source: {{exporter: {{targets: [{exporter.url}]}}}}\n")
    log = tmp_path / "log"
    flags = f"--config.file={file}", "--state.directory=", "--web.listen-address=127.0.0.1:0", "--view=off"
    command = [sys.executable, "-m", "detector", "run", *flags]
    with log.open("wb") as stream, subprocess.Popen(command, cwd=ROOT, stderr=stream) as process:
        try:
            writing = wait_until(lambda: _read_by_now(file), 60, "the settings are read")
            process.send_signal(number)
            text = settings.read_bytes()
            settings.replace(file)
            os.write(writing, text)
            os.close(writing)
            if number is signal.SIGHUP:
                wait_until(lambda: "serving on" in log.read_text(), 60, "the start goes on")
                process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, log.read_text()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_that_comes_while_the_program_is_loaded_ends_it_without_a_word(
    number: signal.Signals, tmp_path: Path
) -> None:
    with _loading(tmp_path, "run") as process:
        process.send_signal(signal.SIGHUP)  # leaves it alone: else it would be what ends it
        process.send_signal(number)
        assert process.wait(60) == -number
        assert process.stderr is not None
        assert process.stderr.read() == b""


@contextmanager
def _loading(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program as it imports something, which takes until it is ended."""
    gate = folder / "gate"
    os.mkfifo(gate)
    (folder / "requests.py").write_text(f"open({str(gate)!r}).read()\n")
    command = [sys.executable, "-m", "detector", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
        try:
            writing = wait_until(lambda: _read_by_now(gate), 60, "the import")
            yield process
            os.close(writing)
        finally:
            process.kill()


def _read_by_now(fifo: Path) -> int | None:
    """A descriptor to write to, once somebody reads."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def test_once_prints_a_verdict_as_json(exporter: Server) -> None:
    done = run("once", targets(exporter), BASELINE, limit_s=LEARNED_LIMIT_S)
    assert done.returncode in (0, 3), done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["instance"] == exporter.address
    assert verdict["phase"] in ("provisional", "calibrated")
    assert verdict["score"] is not None
    assert verdict["active"] == (done.returncode == 3)


def test_fit_under_way_does_not_hold_the_end(exporter: Server, tmp_path: Path) -> None:
    with start_detector(tmp_path, targets(exporter), BASELINE, "--state.directory=") as detector:
        wait_until(
            lambda: any(verdict["progress"] == 1 for verdict in verdicts(detector)), LEARNED_LIMIT_S, "the baseline"
        )
        assert end(detector) < END_LIMIT_S


def test_live_view_is_drawn_on_a_terminal(exporter: Server) -> None:
    text = _drawn(exporter, "exceed their own bound")
    for words in (exporter.address, "/metrics", "learning", "score", "of a core"):
        assert words in text, text


def test_live_view_is_drawn_on_a_terminal_that_has_ascii_alone(exporter: Server) -> None:
    text = _drawn(exporter, "baseline ", PYTHONIOENCODING="ascii")
    assert text.isascii()
    assert re.search(r"baseline [#.]{30} \d+%", text), text


def _drawn(exporter: Server, words: str, **environment: str) -> str:
    """What a terminal shows until certain words, and until the program was told to end."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "detector", "run", targets(exporter), "--web.listen-address=127.0.0.1:0"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "110", "LINES": "40", **environment}
    flags: Sequence[str] = ("--state.directory=", BASELINE)
    with subprocess.Popen([*command, *flags], stdin=theirs, stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        text = ""
        try:
            text = _read_until(ours, words)
        finally:
            process.send_signal(signal.SIGINT)
            text += _read_until(ours, None)
            status = process.wait(10)
            os.close(ours)
    assert status == 0, text
    assert "Traceback" not in text
    return text


def _read_until(descriptor: int, words: str | None) -> str:
    """What a terminal shows until certain words, or to the end; without its control sequences."""
    deadline_s, raw = time.monotonic() + LEARNED_LIMIT_S, b""
    while time.monotonic() < deadline_s:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # the other side is closed
            break
        raw += part
        if words is not None and words in _plain(raw):
            return _plain(raw)
    assert words is None, f"{words!r} was not shown: {_plain(raw)[-3000:]}"
    return _plain(raw)


def _plain(raw: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw.decode(errors="replace"))


def test_models_survive_a_restart_and_scores_go_when_the_exporter_goes(
    exporters: tuple[Server, Server], tmp_path: Path
) -> None:
    state, exporter = tmp_path / "state", exporters[1]
    flags = targets(exporter), BASELINE, f"--state.directory={state}", "--web.external-url=https://example.org/a/"
    with start_detector(tmp_path, *flags) as detector:
        assert value(detector, "hostpulse_detector_config_last_reload_successful") == 1
        found_at = {"instance": exporter.address, "url": "https://example.org/a"}
        wait_until(lambda: value(detector, "hostpulse_detector_address_info", **found_at) == 1, 60, "the address")
        wait_until(lambda: has_score(detector), LEARNED_LIMIT_S, "a score")
        (verdict,) = verdicts(detector)
        assert (verdict["instance"], verdict["phase"]) == (exporter.address, "provisional")
        assert detector.get("/-/ready").text == "ok\n"
        assert end(detector) < END_LIMIT_S
    assert list(state.glob("*.npz"))
    with start_detector(tmp_path, *flags) as detector:
        wait_until(lambda: verdicts(detector), 60, "a verdict after the restart")
        assert verdicts(detector)[0]["phase"] == "provisional"
        wait_until(lambda: has_score(detector), 60, "a score after the restart")
        exporter.stop()
        # Windows that show the detector's own start have no score either, but are told of.
        wait_until(lambda: value(detector, "hostpulse_anomaly_active") is None, 60, "what is told of the host is gone")
        assert not has_score(detector)
        wait_until(lambda: value(detector, "hostpulse_detector_hosts_failing") == 1, 60, "that round is over")
        reply = requests.get(f"{detector.url}/-/ready", timeout=5)
        assert reply.status_code == 503
        assert "Connection refused" in reply.text
        assert detector.get("/-/healthy").text == "ok\n"


def test_alerts_find_the_budget_and_counters_that_can_rise_from_the_start(tmp_path: Path) -> None:
    target = "--source.exporter.targets=http://127.0.0.1:9"
    with start_detector(tmp_path, target, f"--state.directory={tmp_path / 'state'}") as detector:
        assert value(detector, "hostpulse_detector_alarm_budget", severity="warning") == 0.5
        assert value(detector, "hostpulse_detector_alarm_budget", severity="page") == 0.05
        assert value(detector, "hostpulse_detector_sink_errors_total", sink="metrics") == 0
        assert value(detector, "hostpulse_detector_read_errors_total", source="exporter") is not None
