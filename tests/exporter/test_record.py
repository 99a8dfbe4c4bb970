"""Recordings: what the ring held is in the files, whatever ends the recording."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest

from catalog import FAMILIES
from catalog.families import cpu, host, memory
from catalog.family import Tier
from catalog.series import Series
from detector.recording import open_recording
from exporter import parquet
from exporter.anonymous import Anonymous
from exporter.engine import Engine
from exporter.facts import facts
from exporter.host import Host
from exporter.parquet import Folder, FullError
from exporter.record import Recorder, Wanted, record
from exporter.ring import Schema, Segment
from exporter.settings import Settings, SettingsError
from tests.exporter.tiny import Hands, Script, engine, scripted
from tests.nvml import Stub, profiles
from tests.recordings import ABOUT
from tests.servers import wait_until
from tests.tree import ROOT

LIMIT_S = 60.0
MUCH = 1 << 30


def schema_of(*columns: Series, tier: Tier = Tier.FAST) -> Schema:
    return Schema(tier, 0.1, columns)


def segment(schema: Schema, rows: Sequence[Sequence[float]]) -> Segment:
    return Segment(schema, (array("d", [value for row in rows for value in row]),))


def folder_at(directory: Path, max_bytes: int = MUCH) -> Folder:
    directory.mkdir(exist_ok=True)
    return Folder(directory, max_bytes, {"format": "made up"}, Anonymous())


def values_of(path: Path) -> list[list[float | None]]:
    return [list(row.values()) for row in pq.read_table(path).to_pylist()]


PAIR = schema_of(cpu.SECONDS("0", "user"), memory.AVAILABLE_BYTES())


def test_rows_are_read_back_as_they_were_and_gaps_as_null(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.add([segment(PAIR, [(1.5, 0.1, -0.0), (1.6, math.nan, 2.0**53)])])
    folder.save()
    (file,) = tmp_path.glob("*.parquet")
    assert file.name == "fast-000001.parquet"
    assert pq.read_schema(file).names == ["time_s", 'hostpulse_cpu_seconds_total{cpu="0",mode="user"}', *PAIR.names[1:]]
    assert values_of(file) == [[1.5, 0.1, -0.0], [1.6, None, 2.0**53]]


def test_units_and_kinds_are_in_the_metadata_of_the_file(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.add([segment(PAIR, [(1.0, 2.0, 3.0)])])
    folder.save()
    metadata = pq.read_metadata(tmp_path / "fast-000001.parquet").metadata
    assert json.loads(metadata[b"hostpulse.families"]) == {
        cpu.SECONDS.name: {"kind": "counter", "unit": "seconds"},
        memory.AVAILABLE_BYTES.name: {"kind": "gauge", "unit": "bytes"},
    }
    assert (metadata[b"hostpulse.version"], metadata[b"hostpulse.tier"], metadata[b"hostpulse.interval_s"]) == (
        b"1",
        b"fast",
        b"0.1",
    )
    about = json.loads((tmp_path / "recording.json").read_text())
    assert about["schemas"] == {PAIR.digest: {"tier": "fast", "interval_s": 0.1, "columns": list(PAIR.names)}}


def test_file_grows_in_place_until_another_layout_or_its_size_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_LARGEST_BYTES", 4 * 24)
    folder, other = folder_at(tmp_path), schema_of(memory.AVAILABLE_BYTES())
    for start in (1.0, 3.0, 5.0):
        folder.add([segment(PAIR, [(start, 0.0, 0.0), (start + 1, 0.0, 0.0)])])
        folder.save()
    folder.add([segment(other, [(7.0, 1.0)]), segment(schema_of(host.FORKS(), tier=Tier.SLOW), [(7.0, 1.0)])])
    folder.save()
    times = {path.name: [row[0] for row in values_of(path)] for path in sorted(tmp_path.glob("*.parquet"))}
    assert times == {
        "fast-000001.parquet": [1, 2, 3, 4],
        "fast-000002.parquet": [5, 6],
        "fast-000003.parquet": [7],
        "slow-000001.parquet": [7],
    }
    assert folder.rows == {Tier.FAST: 7, Tier.SLOW: 1}
    assert folder.size_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_layout_that_comes_back_at_once_ends_no_file(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.add([segment(PAIR, [(1.0, 0.0, 0.0)]), segment(schema_of(*PAIR.columns), [(2.0, 0.0, 0.0)])])
    folder.save()
    assert folder.files == 1


def test_recording_ends_before_it_is_larger_than_it_may_be(tmp_path: Path) -> None:
    most, folder = 20_000, folder_at(tmp_path, 20_000)
    with pytest.raises(FullError):  # noqa: PT012 - one of these is too much
        for tick in range(10_000):
            folder.add([segment(PAIR, [(tick + 0.1 * row, math.sin(tick + row), tick / 3) for row in range(9)])])
            folder.save()
    assert 10_000 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= most
    assert len(values_of(tmp_path / "fast-000001.parquet")) > 100
    assert not list(tmp_path.glob("*.part"))


def test_recording_that_became_too_large_at_its_first_files_can_be_read(tmp_path: Path) -> None:
    rows = [(tick / 10, math.sin(tick), tick / 3) for tick in range(100)]
    other = [(tick / 10, math.cos(tick)) for tick in range(1000)]
    folder = Folder(tmp_path, 8_000, ABOUT, Anonymous())
    folder.add([segment(PAIR, rows), segment(schema_of(host.FORKS(), tier=Tier.SLOW), other)])
    with pytest.raises(FullError, match=r"slow-000001\.parquet"):
        folder.save()
    found = open_recording(tmp_path)
    assert (found.interval_s, found.span_s, list(found.lanes)) == (0.1, (0.0, 9.9), ["fast"])


def test_layout_is_described_before_there_is_a_file_of_it(tmp_path: Path) -> None:
    folder, other = folder_at(tmp_path), schema_of(memory.AVAILABLE_BYTES())
    folder.add([segment(PAIR, [(1.0, 0.0, 0.0)]), segment(other, [(2.0, 0.0)])])  # the first file is ended, not saved
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["fast-000001.parquet"]
    assert PAIR.digest in json.loads((tmp_path / "recording.json").read_text())["schemas"]


def test_of_two_that_record_into_one_folder_one_is_refused(tmp_path: Path) -> None:
    first = folder_at(tmp_path)
    with pytest.raises(FileExistsError):
        folder_at(tmp_path)
    first.add([segment(PAIR, [(1.0, 2.0, 3.0)])])
    first.save()
    assert values_of(tmp_path / "fast-000001.parquet") == [[1.0, 2.0, 3.0]]


def test_folder_stays_empty_where_not_even_the_description_fits(tmp_path: Path) -> None:
    with pytest.raises(FullError):
        folder_at(tmp_path, 10)
    assert not list(tmp_path.iterdir())


def test_what_tells_one_host_from_another_is_replaced() -> None:
    shown = Anonymous()
    named = host.INFO("node17", "6.1", "Debian", "vendor", "product", "1.2", "")
    assert shown.series(named) == host.INFO("host", "6.1", "Debian", "vendor", "product", "1.2", "")
    made = Series("hostpulse_test_info", (("serial", "S1234"), ("address", "52:54:00:12:34:56"), ("ip", "10.1.2.3")))
    assert shown.series(made).labels == (("serial", "serial-1"), ("address", "02:00:00:00:00:01"), ("ip", "198.18.0.1"))


def test_gpus_are_named_but_nobody_learns_which_they_are(stub: Stub) -> None:
    stub.say(profiles.host(profiles.H100, 2))
    said = facts(Settings(), Engine(Settings(), {}), Host(), Anonymous())
    assert said["host"]["gpus"] == [profiles.H100["name"]] * 2
    first, second = said["infos"]["hostpulse_gpu_info"]
    assert first["uuid"].startswith("serial-")
    assert first["uuid"] != second["uuid"]
    assert "GPU-" not in json.dumps(said["infos"])


def test_rows_that_the_ring_let_go_are_counted_as_lost(tmp_path: Path) -> None:
    hands, wide = Hands(), Script(tuple(map(str, range(100))), lambda: (1.0,) * 100)
    kind = scripted("wide", Tier.FAST, wide, (cpu.INTERRUPTS,))
    built = engine(hands, kind, settings=Settings(ring_bytes=1 << 20))
    recorder = Recorder(built, folder_at(tmp_path))
    for tick in range(2_000):
        built.sampler.tick(tick)
        hands.move(0.1)
        if tick < 1_000:
            recorder.take()
    recorder.take()
    assert recorder.lost == 0
    for tick in range(2_000, 4_000):
        built.sampler.tick(tick)
        hands.move(0.1)
    recorder.take()
    assert 500 < recorder.lost < 2_000


def test_detector_reads_what_was_recorded(recorded: tuple[Path, str]) -> None:
    read = open_recording(recorded[0])
    assert read.interval_s == 0.1
    span_s = read.span_s[1] - read.span_s[0]
    assert 1.0 < span_s < LIMIT_S
    assert {"fast", "medium", "slow"} <= read.lanes.keys()
    assert 10 <= sum(len(rows.times_s) for rows in read.lanes["fast"]) <= span_s / read.interval_s + 2


def run(*arguments: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-m", "exporter", "record", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)


@contextmanager
def recording(out: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """A recording that runs, once its first samples are on disk."""
    command = [sys.executable, "-m", "exporter", "record", f"--out={out}", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            wait_until(lambda: list(out.glob("fast-*.parquet")), LIMIT_S, "a file of fast samples")
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A recording of three seconds of this host, and what was said meanwhile."""
    out = tmp_path_factory.mktemp("recorded") / "made" / "for-it"
    done = run(f"--out={out}", "--duration=3s", "--profile=standard")
    assert done.returncode == 0, done.stderr
    return out, done.stderr


def test_recording_holds_all_tiers_at_their_own_rate(recorded: tuple[Path, str]) -> None:
    out, said = recorded
    fast = pq.read_table(out / "fast-000001.parquet")
    times_s = fast["time_s"].to_pylist()
    medium_s = sorted(
        time_s for file in out.glob("medium-*.parquet") for time_s in pq.read_table(file)["time_s"].to_pylist()
    )
    assert times_s == sorted(set(times_s))
    # Ticks are on a grid, of which a busy machine may leave some out.
    for found_s, interval_s in ((times_s, 0.1), (medium_s, 1.0)):
        steps = [(later - earlier) / interval_s for earlier, later in pairwise(found_s)]
        assert median(steps) == pytest.approx(1.0, abs=0.3)
    assert abs(times_s[-1] - time.time()) < 60
    assert 'hostpulse_cpu_seconds_total{cpu="0",mode="user"}' in fast.column_names
    assert "recorded " in said
    assert not list(out.glob("*.part"))


def test_recording_says_what_the_host_is_but_not_which(recorded: tuple[Path, str]) -> None:
    out, _ = recorded
    text = (out / "recording.json").read_text()
    about: dict[str, Any] = json.loads(text)
    assert (about["format"], about["version"]) == ("hostpulse recording", 1)
    assert about["host"]["kernel"] == os.uname().release
    assert about["host"]["cpus"] == os.cpu_count()
    assert about["host"]["numa_nodes"] >= 1
    assert about["host"]["cpu_models"] != []
    assert about["settings"]["profile"] == "standard"
    assert abs(about["clock"][0]["wall_offset_s"]) < 1
    assert about["collectors"]["stat"] == "on"
    assert about["families"]["hostpulse_cpu_seconds_total"]["unit"] == "seconds"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert boot not in text
    assert f'"{os.uname().nodename}"' not in text
    for schema in about["schemas"].values():
        assert all(column.partition("{")[0] in FAMILIES for column in schema["columns"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_recording_with_all_of_it_on_disk(tmp_path: Path, number: signal.Signals) -> None:
    with recording(tmp_path / "out", "--sample.interval=50ms") as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, said
    rows = len(pq.read_table(tmp_path / "out" / "fast-000001.parquet"))
    assert f"{rows} fast" in said
    assert "Traceback" not in said


def test_killed_recording_is_whole_up_to_seconds_before(tmp_path: Path) -> None:
    with recording(tmp_path / "out") as process:
        process.kill()
        process.wait(LIMIT_S)
    assert len(pq.read_table(tmp_path / "out" / "fast-000001.parquet")) > 1
    assert json.loads((tmp_path / "out" / "recording.json").read_text())["version"] == 1


def test_size_that_is_reached_ends_it_with_a_message(tmp_path: Path) -> None:
    done = run(f"--out={tmp_path}", "--max-size=64KiB", "--sample.interval=10ms")
    assert done.returncode == 0, done.stderr
    assert "more than --max-size" in done.stderr
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 64 << 10


def test_size_that_holds_not_even_the_description_is_a_wrong_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)  # not of this process
    with pytest.raises(SettingsError, match="--max-size: 1000 bytes do not hold what is said of the host"):
        record(Settings(), Wanted(tmp_path, 1.0, 1000))
    assert not list(tmp_path.iterdir())


def test_two_that_are_started_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "exporter", "record", f"--out={tmp_path / 'out'}", "--duration=1s"]
    both = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=LIMIT_S)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    assert re.search(r"--out=.*: (another recording has been begun there|is not empty)", "".join(said))


def test_disk_that_takes_nothing_more_is_said_plainly(tmp_path: Path) -> None:
    done = run(f"--out={tmp_path}", prefix=("prlimit", "--fsize=30000"))
    assert done.returncode == 1
    assert f"--out={tmp_path}: cannot write: File too large; what was written before is whole" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.part"))


def test_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out, says in ((tmp_path, "is not empty; allowed: an empty folder"), (tmp_path / "file", "File exists")):
        done = run(f"--out={out}")
        assert done.returncode == 2
        assert f"--out={out}: {says}" in done.stderr
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "the following arguments are required: --out"),
        (("--out=x", "--duration=soon"), "--duration: 'soon' is not allowed; allowed: a duration such as"),
        (("--out=x", "--max-size=1KiB"), "--max-size: '1KiB' is not allowed; allowed: bytes such as"),
    ],
)
def test_wrong_flag_is_named_with_what_is_allowed(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_missing_package_is_named_with_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None; from exporter.__main__ import main; "
        f"sys.exit(main(['record', '--out={tmp_path}']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 1
    assert done.stderr == "hostpulse-exporter: record needs pyarrow: install hostpulse[recording]\n"
