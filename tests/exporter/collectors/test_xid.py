"""XID errors by both ways in which the driver reports them: events, and the kernel's log."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from catalog.families import gpuhealth
from exporter import nvml, xid
from exporter.collector import Collector, Unavailable
from exporter.collectors.xid import XidCollector
from exporter.nvml import SESSION
from tests.exporter.nvml import collector, of, readings
from tests.nvml import Stub, profiles
from tests.servers.process import wait_until

FALLEN = "NVRM: Xid (PCI:0000:11:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
_LIMIT_S = 60.0


def _log(path: Path, *messages: str, level: int = 4) -> None:
    """Append records as the kernel writes them; level 4 is a warning of its own, 12 one of a user."""
    with path.open("a") as file:
        file.writelines(f"{level},1234,98765432,-;{message}\n SUBSYSTEM=pci\n" for message in messages)


def _listening(one: Collector) -> bool:
    assert isinstance(one, XidCollector)
    return one._events is not None and one._events._generation == SESSION.generation


def _counted(one: Collector) -> dict[str, float]:
    return {key: value for key, value in of(readings(one), gpuhealth.XID_ERRORS).items() if value}


@pytest.fixture
def kmsg(tmp_path: Path) -> Path:
    """A kernel's log that a test writes."""
    path = tmp_path / "kmsg"
    path.touch()
    return path


def test_error_is_counted_by_its_event_with_the_time_of_the_last(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100, 8))
    with closing(collector("xid")) as one:
        assert _counted(one) == {}
        assert of(readings(one), gpuhealth.XID_ERRORS)["3,79"] == 0, "there before the first one"
        assert of(readings(one), gpuhealth.XID_LAST_TIMESTAMP_SECONDS) == {}
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks for events")
        began_s = time.time()
        for gpu, xid in ((3, 79), (3, 79), (5, 31)):
            stub.event(gpu, xid)
        wait_until(lambda: _counted(one) == {"3,79": 2, "5,31": 1}, _LIMIT_S, lambda: str(_counted(one)))
        last_s = of(readings(one), gpuhealth.XID_LAST_TIMESTAMP_SECONDS)
        assert set(last_s) == {"3,79", "5,31"}
        assert all(began_s <= at_s <= time.time() for at_s in last_s.values())
        layout = one.series
        stub.event(5, 31)
        wait_until(lambda: _counted(one)["5,31"] == 2, _LIMIT_S, "one more")
        assert one.series is layout, "no new series for what was seen before"


def test_series_begins_with_0_so_that_its_first_error_is_an_increase(stub: Stub, kmsg: Path) -> None:
    stub.say(profiles.host(profiles.H100))
    with closing(collector("xid", kmsg=str(kmsg))) as one:
        _log(kmsg, "NVRM: Xid (PCI:0000:10:00): 31, pid=1, name=python, MMU Fault.")
        assert [of(readings(one), gpuhealth.XID_ERRORS)["0,31"] for _ in range(3)] == [0, 1, 1]


def test_error_that_both_sources_report_counts_once(stub: Stub, kmsg: Path) -> None:
    stub.say(profiles.host(profiles.H100, 2))
    with closing(collector("xid", kmsg=str(kmsg))) as one:
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks for events")
        _log(kmsg, FALLEN, FALLEN)
        assert _counted(one) == {"1,79": 2}
        stub.event(1, 79)
        stub.event(1, 79)
        stub.event(0, 48)
        wait_until(lambda: "0,48" in _counted(one), _LIMIT_S, "the last event")
        assert _counted(one) == {"1,79": 2, "0,48": 1}


def test_only_what_the_kernel_itself_logs_counts(stub: Stub, kmsg: Path) -> None:
    stub.say(profiles.host(profiles.H100, 2))
    _log(kmsg, FALLEN)
    with closing(collector("xid", kmsg=str(kmsg))) as one:
        _log(kmsg, FALLEN, level=12)
        _log(kmsg, "eth0: link is up", f"said by somebody: {FALLEN}", "NVRM: Xid (PCI:0000:10:00): no number")
        with kmsg.open("ab") as file:
            file.write(b"\xff\xfe;;\nnonsense\n4\n")
        assert _counted(one) == {}, "neither what was there before nor what others write"
        _log(kmsg, "NVRM: Xid (PCI:0000:10:00.0): 63, pid=1234, Row Remapper: New row marked for remapping")
        assert _counted(one) == {"0,63": 1}


def test_events_go_on_after_nvml_was_opened_anew(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "RENEW_S", 0.0)
    stub.say(profiles.host(profiles.H100, 2))
    with closing(collector("xid")) as one:
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks for events")
        with SESSION.calling():
            SESSION.renew()
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks again")
        stub.event(1, 94)
        assert wait_until(lambda: _counted(one), _LIMIT_S, "an event") == {"1,94": 1}


def test_events_of_other_gpus_go_on_when_one_is_lost(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xid, "_PAUSE_S", 0.01)
    stub.say(profiles.host(profiles.H100, 2))
    with closing(collector("xid")) as one:
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks for events")
        stub.say({"error.nvmlEventSetWait_v2": 15, "0.lost": 15})
        wait_until(lambda: not _listening(one), _LIMIT_S, "waiting fails")
        stub.forget("error.nvmlEventSetWait_v2")
        wait_until(lambda: _listening(one), _LIMIT_S, "it asks again")
        stub.event(1, 63)
        assert wait_until(lambda: _counted(one), _LIMIT_S, "an event") == {"1,63": 1}


def test_missing_kernel_log_is_noted_and_missing_driver_turns_it_off(stub: Stub, kmsg: Path) -> None:
    stub.say(profiles.host(profiles.H100))
    with closing(collector("xid")) as one:
        assert "/nowhere/kmsg, given by --path.kmsg: No such file or directory" in one.note
    stub.clear()
    with pytest.raises(Unavailable, match="driver is not loaded"):
        collector("xid", kmsg=str(kmsg))


def test_log_that_was_overwritten_or_is_empty_ends_the_read(stub: Stub, tmp_path: Path) -> None:
    stub.say(profiles.host(profiles.H100))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with closing(collector("xid", kmsg=str(pipe))) as one:
        assert _counted(one) == {}
        writer = os.open(pipe, os.O_WRONLY)
        assert _counted(one) == {}, "nothing is there, and nothing is waited for"
        os.write(writer, f"4,1,1,-;{FALLEN.replace('11:00', '10:00')}\n".encode())
        assert _counted(one) == {"0,79": 1}
        os.close(writer)
