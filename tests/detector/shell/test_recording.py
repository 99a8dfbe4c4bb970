"""A recording gives the frames that were read live; one that is damaged is named."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.families import cpu, storage
from detector.frame import Frame
from detector.recording import RecordingError, open_recording
from detector.replay import Feed
from detector.sources.exporter import ExporterSettings, ExporterSource
from exporter import parquet
from exporter.engine import Engine
from exporter.ring import Segment
from exporter.settings import Settings
from tests.detector.shell.scripted import Scripted
from tests.detector.shell.stepped import SteppedClock
from tests.detector.synthetic import START_S, synthetic_frame
from tests.recordings import as_answer, as_folder, segments_of
from tests.servers import wait_until


def assert_same(one: Frame, other: Frame) -> None:
    """All samples are equal, bit by bit; the order of columns says nothing."""
    np.testing.assert_array_equal(one.times_s, other.times_s)
    assert sorted(one.columns) == sorted(other.columns)
    places = [other.columns.index(series) for series in one.columns]
    np.testing.assert_array_equal(one.values, other.values[:, places])


@pytest.fixture(scope="module")
def ring() -> list[Segment]:
    """What an exporter holds after it has sampled this host for a while."""
    engine = Engine(Settings())
    sampling = Thread(target=engine.sampler.run)
    sampling.start()
    try:
        wait_until(lambda: sum(segment.rows for segment in engine.since(0.0)) > 45, 60, "some seconds of samples")
    finally:
        engine.sampler.stop()
        sampling.join(5)
    return engine.since(0.0)


def test_recording_gives_the_frames_that_the_samples_api_gives(ring: list[Segment], tmp_path: Path) -> None:
    answer = as_answer(ring, tmp_path / "answer")
    with Scripted(lambda path, parameters: (200, answer.read_bytes())) as server:
        source = ExporterSource(ExporterSettings(targets=(server.url,)), 600.0, SteppedClock())
        (host,) = source.hosts()
        newest_s = source.newest_s(host)
        for path in (answer, as_folder([ring], tmp_path / "folder")):
            feed = Feed(open_recording(path))
            for end_s in (newest_s - 2.0, newest_s - 1.0, newest_s):
                live = source.read(host, end_s - 1.5, end_s)
                assert len(live.times_s) >= 10
                assert_same(live, feed.frame(end_s - 1.5, end_s))


def test_what_was_read_more_often_at_times_is_as_far_apart_from_all_sources(tmp_path: Path) -> None:
    frame = synthetic_frame(60.0)
    ticks = np.arange(len(frame.times_s))
    chosen = (ticks % 6 == 0) | ((ticks > 200) & (ticks < 333)) | (ticks % 10 == 0)
    ring = segments_of(Frame(frame.instance, frame.times_s[chosen], frame.values[chosen], frame.columns), 0.6)
    answer = as_answer(ring, tmp_path / "answer")
    with Scripted(lambda path, parameters: (200, answer.read_bytes())) as server:
        source = ExporterSource(ExporterSettings(targets=(server.url,)), 600.0, SteppedClock())
        (host,) = source.hosts()
        source.newest_s(host)
        live = source.read(host, START_S, START_S + 60.0)
    fast = ~np.isnan(live.values[:, live.columns.index(cpu.SECONDS(0, "user"))])
    assert np.diff(live.times_s[fast]).min() > 0.54
    for path in (answer, as_folder([ring], tmp_path / "folder")):
        recording = open_recording(path)
        assert recording.interval_s == 0.6
        assert_same(live, Feed(recording).frame(START_S, START_S + 60.0))


def test_recording_in_many_files_is_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = segments_of(synthetic_frame(60.0))
    parts = [segments_of(part) for part in _cut(synthetic_frame(60.0), 100)]
    monkeypatch.setattr(parquet, "_LARGEST_BYTES", 1 << 15)
    folder = as_folder(parts, tmp_path / "folder")
    assert len(list(folder.glob("fast-*.parquet"))) > 3
    recording, answer = open_recording(folder), open_recording(as_answer(whole, tmp_path / "answer"))
    assert recording.span_s == answer.span_s == (START_S + 0.1, START_S + 60.0)
    assert (recording.interval_s, recording.name) == (0.1, "folder")
    pieces, once = Feed(recording), Feed(answer)
    for end_s in START_S + np.arange(1.0, 60.0):
        assert_same(pieces.frame(end_s - 5.0, end_s), once.frame(end_s - 5.0, end_s))


def _cut(frame: Frame, rows: int) -> list[Frame]:
    starts = range(0, len(frame.times_s), rows)
    return [
        Frame(frame.instance, frame.times_s[at : at + rows], frame.values[at : at + rows], frame.columns)
        for at in starts
    ]


def test_device_shows_only_from_when_it_was_there(tmp_path: Path) -> None:
    frame = synthetic_frame(4.0)
    kept = [place for place, series in enumerate(frame.columns) if series.label("device") != "vda"]
    early = Frame(frame.instance, frame.times_s[:20], frame.values[:20, kept], tuple(frame.columns[k] for k in kept))
    late = Frame(frame.instance, frame.times_s[20:], frame.values[20:], frame.columns)
    folder = as_folder([segments_of(early), segments_of(late)], tmp_path / "folder")
    feed, device = Feed(open_recording(folder)), storage.READS_COMPLETED("vda")
    assert device not in feed.frame(START_S, START_S + 2.0).columns
    assert device in feed.frame(START_S + 1.0, START_S + 3.0).columns


def test_memory_holds_no_more_than_what_is_still_asked_for(tmp_path: Path) -> None:
    frame = synthetic_frame(120.0)
    feed = Feed(open_recording(as_folder([segments_of(part) for part in _cut(frame, 50)], tmp_path / "folder")))
    for end_s in START_S + np.arange(1.0, 120.0):
        feed.frame(end_s - 2.0, end_s)
    assert len(feed.frame(START_S, START_S + 120.0).times_s) < 200


def _folder(tmp_path: Path) -> Path:
    return as_folder([segments_of(synthetic_frame(20.0))], tmp_path / "folder")


def _truncate(folder: Path) -> None:
    file = folder / "fast-000001.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def _scramble(folder: Path) -> None:
    file = folder / "fast-000001.parquet"
    data = bytearray(file.read_bytes())
    data[1000:3000] = bytes(2000)
    file.write_bytes(data)


def _say(folder: Path, **said: object) -> None:
    about = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps(about | said))


def _rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    file = folder / "fast-000001.parquet"
    pq.write_table(change(pq.read_table(file)), file)


def _with(place: int, values: Callable[[int], pa.Array]) -> Callable[[pa.Table], pa.Table]:
    """A change of one column; ``values`` is told how many rows there are."""
    return lambda table: table.set_column(place, table.column_names[place], values(len(table)))


def _ending_at(last_s: float | None) -> Callable[[pa.Table], pa.Table]:
    """A change of the time of the last row."""

    def change(table: pa.Table) -> pa.Table:
        times_s = [*table.column("time_s").to_pylist()[:-1], last_s]
        return table.set_column(0, "time_s", pa.array(times_s, pa.float64()))

    return change


def _versioned(text: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.replace_schema_metadata({"hostpulse.version": text})


def _newer(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata({"hostpulse.version": "2"})


def _empty(folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        file.unlink()


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (_truncate, r"fast-000001\.parquet: is damaged: "),
    (_scramble, r"fast-000001\.parquet: is damaged: "),
    (_empty, "folder: holds no samples"),
    (lambda folder: (folder / "recording.json").unlink(), "folder: is no recording, as there is no recording.json"),
    (lambda folder: (folder / "recording.json").write_text("{"), r"recording\.json: is damaged"),
    (lambda folder: (folder / "recording.json").write_text("[]"), r"recording\.json: is damaged"),
    (lambda folder: _say(folder, version=2), r"recording\.json: is of version 2, this program reads 1"),
    (lambda folder: _say(folder, format="photo"), r"recording\.json: is of 'photo'"),
    (lambda folder: _say(folder, schemas={}), r"recording\.json: is damaged"),
    (lambda folder: _rewrite(folder, _newer), r"fast-000001\.parquet: is of version 2, this program reads 1"),
    (lambda folder: _rewrite(folder, lambda table: table.drop_columns(["time_s"])), "its first column is 'hostpulse_"),
    (
        lambda folder: _rewrite(folder, lambda table: table.take([0, 2, 1, 3])),
        r"fast-000001\.parquet: is damaged: times do not increase near",
    ),
    (lambda folder: _rewrite(folder, lambda table: table.slice(0, 0)), "holds no rows"),
    (lambda folder: _rewrite(folder, _versioned("one")), r"fast-000001\.parquet: is of version one, this program"),
    (lambda folder: _say(folder, schemas={"a": {"interval_s": math.inf}}), r"recording\.json: is damaged"),
    (lambda folder: _say(folder, schemas={"a": {"interval_s": 10**400}}), r"recording\.json: is damaged"),
    (lambda folder: (folder / "recording.json").write_text("[" * 100_000), r"recording\.json: is damaged"),
    *(
        (
            lambda folder, end_s=end_s: _rewrite(folder, _ending_at(end_s)),
            rf"fast-000001\.parquet: is damaged: .* to {end}",
        )
        for end_s, end in ((None, "nan"), (math.inf, "inf"), (1e300, "1e"), (0.0, "0"))
    ),
    *(
        (
            lambda folder, value=value: _rewrite(folder, _with(2, lambda rows: pa.array([value] * rows))),
            r"fast-000001\.parquet: is damaged: Cannot cast",
        )
        for value in ("1", b"1", [1.0], None)
    ),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGE)
def test_damage_is_told_with_the_name_of_the_file(damage: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    damage(folder)
    with pytest.raises(RecordingError, match=said):
        Feed(open_recording(folder)).frame(START_S, START_S + 20.0)


def test_one_file_of_a_recording_is_told_from_the_recording(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    with pytest.raises(RecordingError, match=f"is one file of a recording; name its folder, {folder}$"):
        open_recording(next(folder.glob("fast-*")))


def test_answer_that_is_cut_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"HPS1\x02\0\0\0{}")
    with pytest.raises(RecordingError, match="file: is no answer of /api/v1/samples: header"):
        open_recording(tmp_path / "file")


@pytest.mark.parametrize("body", [b"", b"PAR1 and so on", b"\xff\xfe\0", b"one, two\n3, 4\n"])
def test_file_of_no_format_is_told_which_there_are(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(body)
    with pytest.raises(RecordingError, match=r"file: is of no known format; allowed: .*/api/v1/samples; .*OpenMetrics"):
        open_recording(tmp_path / "file")
    with pytest.raises(RecordingError, match="nothing: No such file"):
        open_recording(tmp_path / "nothing")


def test_missing_package_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RecordingError, match=r"needs pyarrow: install hostpulse\[recording\]"):
        open_recording(folder)


def test_half_written_file_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "fast-000002.part").write_bytes(b"PAR1")
    frame = Feed(open_recording(folder)).frame(START_S, START_S + 20.0)
    assert len(frame.times_s) == 200
    assert cpu.SECONDS(0, "user") in frame.columns
