"""The exporter as a process, asked over HTTP."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog import FAMILIES
from detector.samples import decode
from exporter.__main__ import main
from tests.servers.process import Server, wait_until
from tests.servers.programs import ROOT, start_exporter

_LIMIT_S = 60.0


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start_exporter(tmp_path_factory.mktemp("exporter"), "--profile=standard") as server:
        wait_until(lambda: 'timestamp_seconds{tier="slow"}' in server.get("/metrics").text, _LIMIT_S, "a slow sample")
        yield server


def _run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exporter", *argv],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_bound_address_is_logged_in_a_form_that_programs_can_read(exporter: Server) -> None:
    assert re.search(rf"listening on http://127\.0\.0\.1:{exporter.port}$", exporter.logged(), re.MULTILINE)


def test_metrics_parse_and_are_of_the_catalog(exporter: Server) -> None:
    text = exporter.get("/metrics").text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names <= set(FAMILIES)
    assert len(names) > 60
    samples = [sample for metric in parse_text(text) for sample in metric.samples]
    assert len({(sample.name, *sorted(sample.labels.items())) for sample in samples}) == len(samples) > 200
    assert {tuple(sorted(sample.labels)) for sample in samples if sample.name == "hostpulse_cpu_seconds_total"} == {
        ("cpu", "mode")
    }


def test_openmetrics_parses_strictly(exporter: Server) -> None:
    reply = requests.get(
        f"{exporter.url}/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}, timeout=_LIMIT_S
    )
    assert reply.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    kinds = {metric.type for metric in parse_openmetrics(reply.text)}  # type: ignore[no-untyped-call]
    assert {"counter", "gauge", "info"} <= kinds


def _fast_times(exporter: Server, since_s: float, count: int) -> tuple[str, list[float]]:
    """The boot and the times of the fast rows after a time, once there are so many."""
    boots: list[str] = []
    times_s: list[float] = []

    def read() -> bool:
        header, tables = decode(exporter.get("/api/v1/samples", since=repr(since_s)).content, {})
        fast = [times for segment, (times, _) in zip(header.segments, tables, strict=True) if segment.tier == "fast"]
        boots[:], times_s[:] = [header.boot], [float(time_s) for times in fast for time_s in times]
        return len(times_s) >= count

    wait_until(read, _LIMIT_S, f"{count} fast samples after {since_s}")
    return boots[0], times_s


def test_samples_come_at_the_interval_and_continue_where_they_were(exporter: Server) -> None:
    boot, first = _fast_times(exporter, 0.0, 12)
    steps = sorted(later - earlier for earlier, later in pairwise(first))
    assert steps[len(steps) // 2] == pytest.approx(0.1, abs=0.02)
    assert abs(first[-1] - time.time()) < 5
    boot_again, more = _fast_times(exporter, first[-1], 1)
    assert more[0] > first[-1]
    assert boot_again == boot


def test_scraped_value_is_as_new_as_its_timestamp_says(exporter: Server) -> None:
    (stamp,) = [
        sample.value
        for metric in parse_text(exporter.get("/metrics").text)
        for sample in metric.samples
        if sample.name == "hostpulse_exporter_sample_timestamp_seconds" and sample.labels["tier"] == "fast"
    ]
    assert abs(time.time() - stamp) < 2


def test_landing_page_and_health_answer(exporter: Server) -> None:
    page = exporter.get("/").text
    assert 'class="on"' in page
    assert "meminfo" in page
    assert exporter.get("/-/healthy").text == "healthy\n"
    assert exporter.get("/-/ready").text == "ready\n"


def test_resident_memory_stays_small(exporter: Server) -> None:
    for _ in range(3):
        exporter.get("/metrics")
        exporter.get("/api/v1/samples")
    pages = int(Path(f"/proc/{exporter.pid}/statm").read_text().split()[1])
    assert pages * os.sysconf("SC_PAGE_SIZE") <= 40 << 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_cleanly_beside_an_open_connection(tmp_path: Path, number: signal.Signals) -> None:
    with start_exporter(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port), _LIMIT_S) as open_one:
        open_one.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        assert open_one.recv(100)
        server.process.send_signal(number)
        assert server.process.wait(_LIMIT_S) == 0
        assert "Traceback" not in server.logged()


def test_signal_that_asks_for_a_reload_changes_nothing(tmp_path: Path) -> None:
    with start_exporter(tmp_path) as server:
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "SIGHUP changes nothing" in server.logged(), _LIMIT_S, "it is heeded")
        assert server.get("/-/ready").text == "ready\n"


def test_signals_that_come_during_the_start_are_heeded_after_it() -> None:
    waiting = ("env", "--block-signal=HUP,TERM")  # until the program lets them come
    command = [*waiting, sys.executable, "-m", "exporter", "--web.listen-address=127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        begun = Path(f"/proc/{process.pid}/cmdline")
        wait_until(lambda: begun.read_text().startswith(sys.executable), _LIMIT_S, "they are held back")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        try:
            _, said = process.communicate(timeout=_LIMIT_S)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "listening on" in said
    assert "SIGHUP changes nothing" in said


def test_taken_port_is_said_plainly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = _run(f"--web.listen-address={address}")
    assert run.returncode == 1
    assert f"cannot listen on http://{address}, given by --web.listen-address: Address already in use" in run.stderr
    assert "Traceback" not in run.stderr


def test_name_that_no_host_can_have_is_said_plainly() -> None:
    run = _run("--web.listen-address=a..b:0")
    assert run.returncode == 1
    assert "cannot listen on http://a..b:0, given by --web.listen-address: " in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--sample.interval=fast",), "--sample.interval: 'fast' is not allowed; allowed: a duration"),
        (("--collector.disable=meminf",), "no collector is called 'meminf' (did you mean meminfo?); allowed: "),
        (("sing",), "no such command: 'sing'; allowed: serve, record, once, list, capture, version"),
        (("once", "--nonsense=1"), "unrecognized arguments: --nonsense=1"),
        (("--samp=1s",), "unrecognized arguments: --samp=1s"),
    ],
)
def test_wrong_command_line_is_explained_with_status_2(argv: tuple[str, ...], says: str) -> None:
    run = _run(*argv)
    assert run.returncode == 2
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_wrong_environment_variable_is_named() -> None:
    run = _run("version", HOSTPULSE_EXPORTER_PROFILE="all")
    assert (run.returncode, "HOSTPULSE_EXPORTER_PROFILE: 'all' is not allowed" in run.stderr) == (2, True)


def test_once_writes_one_exposition_and_flags_follow_the_command() -> None:
    run = _run("once", "--collector.disable=meminfo", "--profile=core")
    assert run.returncode == 0
    names = {metric.name for metric in parse_text(run.stdout)}
    assert "hostpulse_cpu_seconds" in names
    assert not any(name.startswith("hostpulse_memory_available") for name in names)
    assert any("build_info" in line for line in run.stdout.splitlines())


def test_list_says_what_is_on_and_why_not() -> None:
    run = _run("list", "--collector.disable=meminfo")
    assert run.returncode == 0
    assert re.search(r"^stat: on, \d+ series, tier fast$", run.stdout, re.MULTILINE)
    assert "meminfo: off (switched off by --collector.disable), 0 series" in run.stdout
    assert "    reads /proc/stat\n" in run.stdout
    assert "    hostpulse_cpu_seconds_total [core]\n" in run.stdout


def test_capture_goes_to_the_file_that_is_named(tmp_path: Path) -> None:
    out = tmp_path / "host.capture"
    assert _run("capture", f"--out={out}").stdout == ""
    assert "file /proc/stat\n" in out.read_text()
    failed = _run("capture", f"--out={tmp_path}/no/such/place")
    assert (failed.returncode, "cannot write to --out=" in failed.stderr) == (1, True)


def test_captured_host_is_shown_as_it_was(tmp_path: Path) -> None:
    capture = ROOT / "tests" / "hosts" / "vm-2cpu.capture"
    run = _run("once", f"--replay={capture}", "--profile=full", "--collector.disable=build,clock,self")
    assert (run.returncode, run.stdout) == (0, capture.with_suffix(".prom").read_text(encoding="utf-8"))
    wrong = tmp_path / "wrong"
    wrong.write_text("not a capture\n")
    for file, why in ((wrong, ""), (tmp_path / "missing", "No such file or directory\n")):
        failed = _run("list", f"--replay={file}")
        assert (failed.returncode, f"--replay={file}: {why}" in failed.stderr) == (2, True)


def test_version_and_help_go_to_standard_output() -> None:
    assert re.fullmatch(r"hostpulse-exporter \S+ \(Python 3\.\d+\.\d+\S*\)\n", _run("version").stdout)
    shown = _run("--help")
    assert shown.returncode == 0
    assert all(text in shown.stdout for text in ("serve", "--sample.interval", "HOSTPULSE_EXPORTER_SAMPLE_INTERVAL"))


@pytest.mark.parametrize(
    ("command", "usage", "about", "flag"),
    [
        ("serve", "serve [--FLAG=VALUE ...]", "Serve /metrics and /api/v1/samples", "--sample.interval"),
        ("record", "record [--FLAG=VALUE ...]", "Write all samples at full rate", "--out"),
        ("capture", "capture [--FLAG=VALUE ...]", "Write all that the collectors read", "--replay"),
        ("completion", "completion {bash,zsh,fish}", "Print what makes a shell complete", "{bash,zsh,fish}"),
    ],
)
def test_help_of_a_command_is_about_that_command(
    command: str, usage: str, about: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert shown.startswith(f"usage: hostpulse-exporter {usage}\n\n{about}")
    assert flag in shown.partition("options:")[2] + shown.partition("positional arguments:")[2]
    assert "commands:" not in shown


def test_full_disk_behind_standard_output_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "exporter", "version"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    said = b"hostpulse-exporter: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("argument", ["once", "list", "--help"])
def test_poor_encoding_of_standard_output_is_no_error(argument: str) -> None:
    done = _run(argument, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert len(done.stdout) > 1000


def test_limit_of_open_files_is_raised_as_far_as_it_may_be(tmp_path: Path) -> None:
    prefix = ("prlimit", "--nofile=256:5000")
    with start_exporter(tmp_path, "--web.max-connections=8", prefix=prefix) as server:
        limits = Path(f"/proc/{server.pid}/limits").read_text()
    assert re.search(r"Max open files\s+5000\s+5000\s", limits), limits
