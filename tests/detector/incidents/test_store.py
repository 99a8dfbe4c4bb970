"""The store of incidents: found by host and time, bounded, safe against crashes and damage."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from detector.config import load
from detector.incidents.incident import Incident
from detector.incidents.store import DAY_S, FILE, IncidentStore
from detector.service import StartError, build_incidents
from detector.source import Host
from tests.detector.conftest import fill_up, make_read_only
from tests.detector.incidents.cases import HOST, made
from tests.detector.synthetic import START_S
from tests.tree import ROOT

OTHER = Host("other:17720", "hostpulse")
HOUR_S = 3600.0


def test_what_was_put_is_found_again_after_a_restart(tmp_path: Path) -> None:
    store = IncidentStore(tmp_path / "new")
    store.put(made(1))
    store.close()
    again = IncidentStore(tmp_path / "new")
    assert again.select() == [made(1)]
    again.close()


def test_incidents_are_found_by_host_and_time_oldest_first() -> None:
    store = IncidentStore()
    for incident in (made(3), made(1), made(2, OTHER), made(5, end_s=None)):
        store.put(incident)
    assert [one.id for one in store.select()] == [one.id for one in (made(1), made(2, OTHER), made(3), made(5))]
    assert [one.instance for one in store.select(OTHER.instance)] == [OTHER.instance]
    assert store.select(from_s=START_S + HOUR_S + 30, to_s=START_S + HOUR_S + 40) == [made(1)]
    assert store.select(from_s=START_S + HOUR_S + 61, to_s=START_S + 2 * HOUR_S - 1) == []
    assert [one.id for one in store.select(from_s=START_S + 9 * HOUR_S)] == [made(5).id], "what is open has no end yet"
    assert [one.id for one in store.select(most=2)] == [made(3).id, made(5).id]


def test_incident_is_found_by_the_beginning_of_its_id_if_that_is_its_alone() -> None:
    store = IncidentStore()
    store.put(made(1))
    store.put(made(2))
    assert store.get("made-1") == made(1)
    assert store.get("made") is None
    assert store.get("") is None


def test_later_state_of_an_incident_takes_the_place_of_the_earlier() -> None:
    store = IncidentStore()
    store.put(made(1, end_s=None))
    store.put(made(1, peak=3.0))
    (found,) = store.select()
    assert (found.peak, found.end_s) == (3.0, START_S + HOUR_S + 60.0)


def test_old_incidents_and_those_beyond_the_number_give_way() -> None:
    store = IncidentStore(None, retention_s=DAY_S, most=3)
    for number in range(5):
        store.put(made(number))
    assert [one.id for one in store.select()] == [made(number).id for number in (2, 3, 4)]
    store.put(made(27))
    assert [one.id for one in store.select()] == [made(number).id for number in (4, 27)]


def test_host_whose_clock_is_ahead_costs_no_other_its_incidents() -> None:
    store = IncidentStore(None, retention_s=DAY_S)
    store.put(made(0), START_S + HOUR_S)
    ahead = made(24 * 365, OTHER)
    store.put(ahead, START_S + HOUR_S)
    assert [one.id for one in store.select()] == [made(0).id, ahead.id]
    store.put(made(25), START_S + 26 * HOUR_S)
    assert [one.id for one in store.select()] == [made(25).id, ahead.id]


def test_file_stays_small_however_many_incidents_come(tmp_path: Path) -> None:
    store = IncidentStore(tmp_path, most=50)
    curve = tuple((START_S + n, n * 0.37) for n in range(200))
    for number in range(400):
        store.put(made(number, curve=curve))
    store.close()
    assert (tmp_path / FILE).stat().st_size < 50 * 10_000


@pytest.mark.parametrize("content", [b"not a database" * 30, b"SQLite format 3\0" + b"x" * 5000])
def test_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    store = IncidentStore(tmp_path)
    store.put(made(1))
    assert store.select() == [made(1)]
    store.close()
    assert (tmp_path / f"{FILE}.bad").read_bytes() == content


def test_file_of_a_later_version_is_set_aside_whole(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    IncidentStore(tmp_path).close()
    assert (tmp_path / f"{FILE}.bad").exists()


def test_folder_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        IncidentStore(tmp_path / "file")


def test_what_was_put_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from detector.incidents.store import IncidentStore\n"
        "from tests.detector.incidents.cases import made\n"
        "store = IncidentStore(Path(sys.argv[1]))\n"
        "for number in range(20):\n"
        "    store.put(made(number))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, env=os.environ, timeout=60)
    assert run.returncode == -signal.SIGKILL
    store = IncidentStore(tmp_path)
    assert len(store.select()) == 20
    store.close()


def test_many_threads_may_read_while_one_writes(tmp_path: Path) -> None:
    store = IncidentStore(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(store.select, HOST.instance) for _ in range(40)]
        for number in range(40):
            store.put(made(number))
        lengths = [len(one.result()) for one in reading]
    assert all(0 <= length <= 40 for length in lengths)
    assert len(store.select()) == 40
    store.close()


def test_settings_say_where_incidents_are_kept_and_how_many(tmp_path: Path) -> None:
    flags = {"state.directory": str(tmp_path), "incidents.retention": "4h", "incidents.most": "2"}
    store = build_incidents(load(None, flags, {}), tmp_path)
    for number in range(4):
        store.put(made(number))
    store.put(made(6))
    store.close()
    again = build_incidents(load(None, flags, {}), tmp_path)
    assert [one.id for one in again.select()] == [made(3).id, made(6).id]
    again.close()


def test_incidents_stay_in_memory_where_no_state_is_to_be_saved() -> None:
    store = build_incidents(load(None, {"state.directory": ""}, {}), None)
    store.put(made(1))
    assert store.select() == [made(1)]


def test_folder_that_was_asked_for_must_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"state\.directory"):
        build_incidents(load(None, {"state.directory": str(tmp_path / "file")}, {}), tmp_path / "file")


def test_file_that_is_damaged_further_in_is_set_aside_by_who_writes_and_left_by_who_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = IncidentStore(tmp_path)
    for number in range(60):
        store.put(made(number))
    store.close()
    whole = (tmp_path / FILE).read_bytes()
    damaged = whole[:8192] + bytes(place * 7 % 256 for place in range(8192, len(whole)))
    (tmp_path / FILE).write_bytes(damaged)
    with pytest.raises(OSError, match=FILE):
        IncidentStore(tmp_path, read_only=True)
    assert (tmp_path / FILE).read_bytes() == damaged
    again = IncidentStore(tmp_path)
    assert again.select() == []
    again.close()
    assert (tmp_path / f"{FILE}.bad").read_bytes() == damaged
    (said,) = caplog.messages
    assert len(said.splitlines()) == 1


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """The folder of a program that ended with two incidents in the log only."""
    store = IncidentStore(tmp_path / "running")
    store.put(made(1))
    store.put(made(2))
    shutil.copytree(tmp_path / "running", tmp_path / "crashed")
    store.close()
    return tmp_path / "crashed"


def contents(folder: Path) -> dict[str, bytes]:
    """What is in a folder; ``-shm`` only says who reads how far."""
    return {file.name: b"" if file.name.endswith("-shm") else file.read_bytes() for file in folder.iterdir()}


def test_new_incidents_are_kept_in_memory_where_the_disk_is_full(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill_up(tiny)
    store = build_incidents(load(None, {"state.directory": str(tiny)}, {}), tiny)
    store.put(made(1))
    assert store.select() == [made(1)]
    (line,) = caplog.messages
    assert line == f"incidents are kept in memory: {tiny} cannot be used: database or disk is full"


def test_incidents_of_a_program_that_crashed_are_known_though_the_disk_is_full(crashed: Path, tiny: Path) -> None:
    shutil.copytree(crashed, tiny, dirs_exist_ok=True)
    fill_up(tiny)
    store = build_incidents(load(None, {"state.directory": str(tiny)}, {}), tiny)
    assert store.select() == [made(1), made(2)]
    store.close()


def test_damaged_file_on_a_full_disk_is_no_reason_not_to_start(tiny: Path) -> None:
    (tiny / FILE).write_bytes(b"not a database" * 30)
    fill_up(tiny)
    store = build_incidents(load(None, {"state.directory": str(tiny)}, {}), tiny)
    store.put(made(1))
    assert store.select() == [made(1)]


@pytest.mark.parametrize("running", [False, True])
def test_who_only_reads_changes_nothing(tmp_path: Path, running: bool, caplog: pytest.LogCaptureFixture) -> None:
    writer = IncidentStore(tmp_path)
    writer.put(made(1))
    if not running:
        writer.close()
    before = contents(tmp_path)
    reader = IncidentStore(tmp_path, read_only=True)
    assert reader.select() == [made(1)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.put(made(2))
    reader.close()
    assert contents(tmp_path) == before
    assert caplog.messages == []
    writer.close()


@pytest.mark.parametrize("crashes", [False, True])
def test_incidents_are_read_where_nothing_may_be_written(crashed: Path, tiny: Path, crashes: bool) -> None:
    shutil.copytree(crashed, tiny, dirs_exist_ok=True)
    if not crashes:
        IncidentStore(tiny).close()
    make_read_only(tiny)
    store = IncidentStore(tiny, read_only=True)
    assert store.select() == [made(1), made(2)]
    store.close()


def test_file_to_which_nothing_was_written_is_an_error_to_who_only_reads(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    with pytest.raises(OSError, match="nothing was written to it yet"):
        IncidentStore(tmp_path, read_only=True)
    assert contents(tmp_path) == {FILE: b""}


@pytest.mark.parametrize("garbage", [b"x" * 9000, b"x", b"\x37\x7f\x06\x82" + bytes(9000)])
def test_damaged_log_is_told_and_set_aside_by_who_writes(
    crashed: Path, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    IncidentStore(crashed).close()  # what is in the log goes into the file
    log = crashed / f"{FILE}-wal"
    log.write_bytes(garbage)
    reader = IncidentStore(crashed, read_only=True)
    assert reader.select() == [made(1), made(2)]
    reader.close()
    assert contents(crashed).keys() == {FILE, log.name}
    assert log.read_bytes() == garbage
    writer = IncidentStore(crashed)
    assert writer.select() == [made(1), made(2)]
    writer.close()
    assert log.with_name(f"{log.name}.bad").read_bytes() == garbage
    left_out, lost = caplog.messages
    assert left_out == f"{log} is damaged: what is only in there is not told"
    assert lost == f"{log} is damaged and set aside as .bad: incidents that were only in there are lost"


@pytest.mark.parametrize(("page", "known"), [(0, []), (-1, [made(1)])])
def test_pages_of_a_log_that_follow_a_damaged_one_are_told(
    crashed: Path, page: int, known: list[Incident], caplog: pytest.LogCaptureFixture
) -> None:
    log = crashed / f"{FILE}-wal"
    content, size = bytearray(log.read_bytes()), 24 + 4096
    pages = range(32, len(content), size)
    content[pages[page] + size // 2] ^= 1
    log.write_bytes(content)
    store = IncidentStore(crashed)
    assert store.select() == known
    store.close()
    lost = len(pages) if page == 0 else 1
    assert caplog.messages == [f"{log} is damaged further in: incidents that were only in {lost} of its pages are lost"]


def test_what_a_log_still_holds_of_before_it_was_begun_anew_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = IncidentStore(tmp_path / "running")
    for number in range(5):
        store.put(made(number))
    with contextlib.closing(sqlite3.connect(tmp_path / "running" / FILE)) as other:
        other.execute("PRAGMA wal_checkpoint(RESTART)")
    store.put(made(5))
    shutil.copytree(tmp_path / "running", tmp_path / "crashed")
    store.close()
    again = IncidentStore(tmp_path / "crashed")
    assert [one.id for one in again.select()] == [made(number).id for number in range(6)]
    again.close()
    assert caplog.messages == []
