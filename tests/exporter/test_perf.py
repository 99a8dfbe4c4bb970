"""perf events of this machine: clocks and software events are counted wherever the kernel lets us."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path

import psutil
import pytest

from catalog.families import perf
from catalog.family import Profile, Tier
from exporter.collector import Collector, Unavailable, discover
from exporter.host import Host
from exporter.perf import Event, close_group, open_event, open_group, why_not
from exporter.perfcounters import PerfCollector, grouped
from exporter.perfevents import Named, hardware, software
from exporter.perfscale import Scaled
from tests.exporter.collectors import latest, opened
from tests.hosts import captured_vm, context, written
from tests.servers.process import wait_until

PERF = sorted(name for name, kind in discover().items() if issubclass(kind, PerfCollector))
_SOFTWARE = 1
_CPU_CLOCK, _SWITCHES, _MIGRATIONS = Event(_SOFTWARE, 0), Event(_SOFTWARE, 3), Event(_SOFTWARE, 4)
_DISABLE = 0x2401  # PERF_EVENT_IOC_DISABLE
_BOOT = "/proc/sys/kernel/random/boot_id"
_ONLINE = "/sys/devices/system/cpu/online"


def _allowed() -> bool:
    try:
        os.close(open_event(_SWITCHES, 0))
    except OSError:
        return False
    return True


needs_perf = pytest.mark.skipif(not _allowed(), reason="needs CAP_PERFMON or kernel.perf_event_paranoid below 1")


def _here(folder: Path, online: str) -> Host:
    """This machine as a written tree shows it: the same boot, other CPUs."""
    return written(folder, {_BOOT: Path(_BOOT).read_bytes(), _ONLINE: online})


@contextmanager
def _clocks(host: Host) -> Iterator[Collector]:
    collector = opened("perfclock", host)
    try:
        yield collector
    finally:
        collector.close()


def test_there_are_collectors_of_perf_events() -> None:
    assert PERF == ["perf", "perfcache", "perfclock"]


@pytest.mark.parametrize("name", PERF)
def test_capture_of_another_host_is_never_measured_here(name: str, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="/proc is not this machine's"):
        opened(name, captured_vm(tmp_path))


@pytest.mark.parametrize("name", PERF)
def test_where_nothing_is_counted_the_reason_names_what_is_missing(name: str) -> None:
    try:
        collector = discover()[name](context(Host(), Profile.CORE))
    except Unavailable as error:
        reason = str(error)
    else:
        assert len(collector.read()) == len(collector.series) > 0
        reason = f"{collector.note or 'all is there'}: the hardware, or the virtual machine, counts the rest"
        collector.close()
    assert "CAP_PERFMON" in reason or "hardware, or the virtual machine" in reason


@needs_perf
def test_context_switches_of_all_cpus_grow_with_those_that_are_made_here() -> None:
    with _clocks(Host()) as collector:
        before = latest(collector)
        turn, other = threading.Event(), threading.Event()

        def answer() -> None:
            for _ in range(500):
                turn.wait(5.0)
                turn.clear()
                other.set()

        thread = threading.Thread(target=answer)
        thread.start()
        for _ in range(500):
            turn.set()
            other.wait(5.0)
            other.clear()
        thread.join(5.0)
        after = latest(collector)
    switches = [name for name in after if name.startswith("cpu_context_switches_total")]
    assert len(switches) == psutil.cpu_count()
    assert sum(after[name] - before[name] for name in switches) >= 500
    assert all(after[name] >= before[name] for name in after if not isnan(before[name]))


@needs_perf
def test_minor_faults_grow_by_the_pages_that_are_touched() -> None:
    with _clocks(Host()) as collector:
        before = latest(collector)
        pages = 4000
        with mmap.mmap(-1, pages * resource.getpagesize()) as memory:  # what malloc gives may have been touched before
            for page in range(pages):
                memory[page * resource.getpagesize()] = 1
            after = latest(collector)
    faults = [name for name in after if name.startswith("cpu_minor_faults_total")]
    assert sum(after[name] - before[name] for name in faults) >= 8  # huge pages take one fault for 512 pages


@needs_perf
@pytest.mark.skipif(not Path("/sys/bus/event_source/devices/msr/events/tsc").exists(), reason="no msr PMU")
def test_time_stamp_counter_runs_at_one_rate_on_every_cpu() -> None:
    with _clocks(Host()) as collector:
        begun_s, before, read_s = time.monotonic(), latest(collector), time.monotonic()
        wait_until(lambda: time.monotonic() - read_s > 0.2, 60.0, "a fifth of a second has passed")
        again_s, after, ended_s = time.monotonic(), latest(collector), time.monotonic()
    cycles = [after[name] - before[name] for name in after if name.startswith("cpu_tsc_cycles_total")]
    assert len(cycles) == psutil.cpu_count()
    least, most = max(cycles) / (ended_s - begun_s), min(cycles) / (again_s - read_s)  # what the one rate may be
    assert 1e8 < least < 1.05 * most


@needs_perf
def test_cpus_that_come_and_go_have_their_series_with_them(tmp_path: Path) -> None:
    files = psutil.Process().num_fds()
    with _clocks(_here(tmp_path, "0\n")) as collector:
        alone = psutil.Process().num_fds()
        (first,) = {dict(series.labels)["cpu"] for series in collector.series}
        before = latest(collector)
        last = (psutil.cpu_count() or 1) - 1
        _here(tmp_path, f"0,{last}\n" if last else "0\n")
        after = latest(collector)
        assert {dict(series.labels)["cpu"] for series in collector.series} == {first, str(last)}
        assert all(after[name] >= before[name] for name in before), "those that stayed go on"
        _here(tmp_path, "0\n")
        assert latest(collector).keys() == before.keys()
        assert psutil.Process().num_fds() == alone
    assert psutil.Process().num_fds() == files


@needs_perf
def test_counters_that_stand_still_are_opened_anew() -> None:
    with _clocks(Host()) as collector:
        assert isinstance(collector, PerfCollector)
        files, first = psutil.Process().num_fds(), collector.take()[0][0]
        fcntl.ioctl(first.leader, _DISABLE)  # what the kernel does when its CPU goes; the CPU may be back by now
        still = latest(collector), latest(collector)
        own = [f"{series}".removeprefix("hostpulse_") for series in first.series]
        assert {name for name, value in still[1].items() if isnan(value)} == set(own)
        after = latest(collector)
        assert not any(map(isnan, after.values()))
        assert after.keys() == still[0].keys()
        assert psutil.Process().num_fds() == files


@needs_perf
def test_reading_taken_before_a_cpu_went_is_parsed_under_its_own_labels(tmp_path: Path) -> None:
    kind = discover()["perfclock"]
    assert issubclass(kind, PerfCollector)
    last = (psutil.cpu_count() or 1) - 1
    collector = kind(context(_here(tmp_path, f"0,{last}\n" if last else "0\n")))
    full = len(collector.series)
    taken = collector.take()
    _here(tmp_path, "0\n")
    later = collector.take()
    assert len(collector.parse(taken)) == len(collector.series) == full
    assert len(collector.parse(later)) == len(collector.series) <= full
    collector.close()


@needs_perf
def test_cpu_that_does_not_exist_is_left_out(tmp_path: Path) -> None:
    with _clocks(_here(tmp_path, "0,60000\n")) as collector:
        assert {dict(series.labels)["cpu"] for series in collector.series} == {"0"}
        collector.read()


@needs_perf
def test_too_few_files_reduce_the_events_and_say_so(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The number of files that it may have in reserve is its own affair: we look for a limit that lets in only some.
    used = psutil.Process().num_fds()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 259, hard))
        with _clocks(_here(tmp_path, "0\n")) as collector:
            assert 0 < len(collector.series) <= 3
            assert "LimitNOFILE=" in collector.note
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 100, hard))
        with pytest.raises(Unavailable, match="LimitNOFILE="):
            opened("perfclock", _here(tmp_path, "0\n"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@needs_perf
def test_group_is_read_in_one_go_with_its_times() -> None:
    descriptors = open_group((_CPU_CLOCK, _SWITCHES, _MIGRATIONS), 0)
    scaled = Scaled(3)
    data = os.read(descriptors[0], scaled.size_bytes)
    close_group(descriptors)
    assert len(data) == scaled.size_bytes
    assert scaled(data)[0] > 0
    assert scaled.running_ratio == 1.0


@needs_perf
def test_events_are_grouped_in_their_order_up_to_the_largest_group() -> None:
    families = discover()["perfclock"].families[:5]
    groups = list(grouped([(family, _SWITCHES) for family in families], 0, 2))
    assert [len(group.counted) for group in groups] == [2, 2, 1]
    assert [family for group in groups for family, _ in group.counted] == list(families)


class _Stand(PerfCollector):
    """Software events in the places of hardware ones: what collectors make of candidates, groups and their times."""

    name, tier, sources = "stand", Tier.FAST, ()
    candidates = {  # noqa: RUF012 - as the collectors have it
        perf.CYCLES: (hardware(99), software(0)),
        perf.INSTRUCTIONS: (Named("msr", "no such event"), software(1)),
        perf.BRANCH_MISSES: (hardware(99),),
        perf.CACHE_MISSES: (software(3),),
        perf.BUS_CYCLES: (software(4),),
    }
    running = perf.PERF_RUNNING_RATIO
    families = (*candidates, running)
    largest_group = 2


@needs_perf
def test_first_candidate_that_counts_is_taken_and_groups_tell_how_long_they_ran(tmp_path: Path) -> None:
    collector = _Stand(context(_here(tmp_path, "0\n"), Profile.CORE))
    values = latest(collector)
    collector.close()
    assert set(values) == {
        'cpu_cycles_total{cpu="0"}',
        'cpu_instructions_total{cpu="0"}',
        'cpu_perf_running_ratio{cpu="0",group="cycles"}',
        'cpu_cache_misses_total{cpu="0"}',
        'cpu_perf_running_ratio{cpu="0",group="cache_misses"}',
    }
    assert collector.note == "not counted by this hardware: branch_misses"
    assert {values[name] for name in values if "ratio" in name} == {1.0}
    assert values['cpu_cycles_total{cpu="0"}'] > 0


def test_refusals_name_the_capability_the_setting_the_limit_or_the_hardware(tmp_path: Path) -> None:
    host = written(tmp_path, {"/proc/sys/kernel/perf_event_paranoid": "3\n"})
    why = {code: why_not(OSError(code, "x"), host) for code in (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENOENT)}
    assert "CAP_PERFMON" in why[errno.EACCES]
    assert "kernel.perf_event_paranoid at 0 or below (it is 3)" in why[errno.EPERM]
    assert "LimitNOFILE=" in why[errno.EMFILE]
    assert "virtual machine" in why[errno.ENOENT]
    assert "perf events" in why_not(OSError(errno.ENOSYS, "x"), host)
    assert why_not(OSError(errno.EIO, "broken"), host) == "perf_event_open: broken"


_AS_NOBODY = """
import os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
from exporter.collector import Context, Unavailable, discover
from exporter.host import Host
try:
    discover()["perfclock"](Context(Host())).close()
except Unavailable as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.skipif(int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 1, reason="anybody may count")
def test_user_without_the_capability_is_told_which_one() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import exporter.collector as c; c.discover()\n" + _AS_NOBODY],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "CAP_PERFMON" in run.stdout, run.stderr
