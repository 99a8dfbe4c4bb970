"""Each fault moves the counter that it says, and nothing of it is left on the host, whatever ended the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

from bench.faults.groups import Limits, make
from bench.faults.injections import HugePages
from bench.faults.journal import Journal
from bench.faults.stage import Ground, ground, require_root, start_host_exporter
from bench.faults.suite import CONTROLS, FAULTS, Fault
from catalog.family import Kind
from tests.servers import Server, UnavailableError, wait_until
from tests.servers.namespace import run
from tests.tree import ROOT

_LIMIT_S = 60.0
_TIMES_BEFORE = 1.5
_HOLD = """
import sys
from pathlib import Path
from bench.faults.stage import ground
with ground(Path(sys.argv[1]), ["swap", "cpu_limit", "packet_loss", "full_tmpfs", "huge_pages", "disk"]) as made:
    for switch in made.faults.values():
        switch.on()
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ground, Server]]:
    """The ground with all faults, and an exporter that sees it."""
    folder = tmp_path_factory.mktemp("faults")
    require_root()
    with (
        ground(folder / "ground", list(FAULTS)) as made,
        start_host_exporter(made, folder / "exporter", "--profile=standard") as exporter,
    ):
        yield made, exporter


def _value(exporter: Server, fault: Fault) -> tuple[float, float]:
    """When it was sampled, and what the fault moves."""
    stamp = "hostpulse_exporter_sample_timestamp_seconds"

    def shown() -> dict[str, list[Sample]]:
        families = {metric.name: metric.samples for metric in parse_text(exporter.get("/metrics").text)}
        return families if {stamp, wanted} <= families.keys() else {}  # one that gets no CPU leaves out what is late

    wanted = fault.moves.name.removesuffix("_total")
    families = wait_until(shown, _LIMIT_S, "samples that are not late")
    tier = next(sample.value for sample in families[stamp] if sample.labels["tier"] == fault.moves.tier)
    samples = [one.value for one in families[wanted] if _labelled(one.labels, fault.label)]
    return tier, sum(samples)  # an error that was never seen has no series


def _labelled(labels: Mapping[str, str], prefix: str) -> bool:
    return not prefix or any(value.startswith(prefix) for value in labels.values())


def _change(exporter: Server, fault: Fault, since: tuple[float, float]) -> float | None:
    """A counter's rate, or how far a gauge is from where it was; None before the next sample."""
    at_s, value = _value(exporter, fault)
    if at_s - since[0] < 0.5:
        return None
    moved = value - since[1]
    return moved / (at_s - since[0]) if fault.moves.kind is Kind.COUNTER else moved


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_moves_what_it_says(made: tuple[Ground, Server], name: str) -> None:
    ground, exporter = made
    fault = FAULTS[name]
    first = _value(exporter, fault)
    before = wait_until(lambda: (_change(exporter, fault, first),), _LIMIT_S, "two samples")[0] or 0.0
    switch = ground.faults[name]
    switch.on()
    try:
        start, seen = _value(exporter, fault), [0.0]

        def moved() -> bool:
            seen[0] = _change(exporter, fault, start) or 0.0
            return seen[0] > _TIMES_BEFORE * max(before, 0.0)

        wait_until(moved, _LIMIT_S, lambda: f"{fault.moves.name} {fault.label} moves: {before} before, {seen[0]} now")
    finally:
        switch.off()
    assert seen[0] > before


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_can_be_switched_on_and_off(made: tuple[Ground, Server], name: str) -> None:
    switch = made[0].controls[name]
    for _ in range(2):
        switch.on()
        switch.off()
    assert made[1].process.poll() is None


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_whatever_ends_the_program(tmp_path: Path, ended_by: signal.Signals) -> None:
    require_root()
    program = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "ground")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    children = psutil.Process(program.pid).children(recursive=True)
    left = partial(_left, program.pid, tmp_path)
    assert len(left()) == len(set(left())) == 7, left()
    program.send_signal(ended_by)
    assert program.wait(60) != 0
    wait_until(lambda: not left(), 60.0, lambda: f"nothing is left, not {left()}")
    assert psutil.wait_procs(children, timeout=10)[1] == []
    program.communicate()


def _left(pid: int, folder: Path) -> list[str]:
    """What a program changed on the host and did not take back."""
    places = [f"/run/netns/hostpulse-faults-{pid}", f"/sys/class/net/hpf{pid}", str(folder / "ground")]
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/hostpulse-*-{pid}")]
    texts = [file for file in ("/proc/self/mountinfo", "/proc/swaps") if str(folder) in Path(file).read_text()]
    return [*groups, *(place for place in places if Path(place).exists()), *texts]


def test_huge_pages_are_given_back(made: tuple[Ground, Server]) -> None:
    pages, switch = HugePages(1).file, made[0].faults["huge_pages"]
    before = pages.read_text()
    switch.on()
    assert int(pages.read_text()) > int(before)
    switch.off()
    assert pages.read_text() == before


def test_what_the_host_does_not_allow_is_told_in_its_own_words() -> None:
    with pytest.raises(UnavailableError, match=r"ls --no-such-option: .*no-such-option"):
        run("ls", "--no-such-option")
    with pytest.raises(UnavailableError, match="no control group a/b"), Journal() as journal:
        make(journal, "a/b", Limits(cpu_cores=1))


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(UnavailableError, match="needs root"):
        require_root()


def test_a_process_that_left_its_group_is_slowed_by_it_no_more() -> None:
    require_root()
    with Journal() as journal:
        group = make(journal, f"hostpulse-left-{os.getpid()}", Limits(cpu_cores=0.1))
        group.add(os.getpid())
        members = [(folder / "cgroup.procs").read_text().split() for folder in group.folders]
        group.leave(os.getpid())
        assert members == [[str(os.getpid())]]
        assert [(folder / "cgroup.procs").read_text() for folder in group.folders] == [""]
