"""Samples as text: a dump of a real Prometheus and what other tools write give the rows that were sampled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from catalog.families import cpu, gpu, storage
from catalog.families.exporter import BUILD_INFO, SAMPLE_TIMESTAMP_SECONDS
from catalog.series import parse_series
from detector.recording import RecordingError, open_recording, open_recordings
from detector.replay import Feed, replay
from detector.settings import TABLE
from tests.detector.synthetic import START_S, fault_of, synthetic_frame
from tests.detector.watching import JUDGE
from tests.dumps import as_openmetrics, make_blocks, with_labels
from tests.servers import binary

FAST, SLOW = cpu.SECONDS(0, "user"), storage.FILESYSTEM_AVAIL_BYTES("/", "vda", "ext4")


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def openmetrics(path: Path) -> Path:
    """A host that is scraped every second: a fast series, and one whose tier is slower than the scrapes."""
    lines = []
    for series in (FAST, SLOW):
        lines.append(f"# TYPE {series.name.removesuffix('_total')} unknown")
        for second in range(40):
            value = 0.5 * second if series is FAST else 1000.0 + 15 * (second // 15)
            lines.append(f"{with_labels(series, instance='h:1', job='j')} {value} {START_S + second:.3f}")
    for tier, every in (("fast", 1), ("slow", 15)):
        for second in range(40):
            stamp_s = START_S - 0.04 + second // every * every
            clock = with_labels(SAMPLE_TIMESTAMP_SECONDS(tier), instance="h:1", job="j")
            lines.append(f'{clock} {stamp_s!r} {START_S + second:.3f} # {{trace="x"}} 1.0')
    return write(path, *lines, "# EOF")


def test_openmetrics_rows_lie_where_they_were_sampled_and_repeats_are_gone(tmp_path: Path) -> None:
    recording = open_recording(openmetrics(tmp_path / "dump.om"))
    assert (recording.name, recording.job) == ("h:1", "j")
    assert recording.interval_s == pytest.approx(1.0)
    frame = Feed(recording).frame(START_S - 1.0, START_S + 60.0)
    fast, slow = (frame.values[:, frame.columns.index(series)] for series in (FAST, SLOW))
    assert np.isfinite(fast).sum() == 40
    assert list(slow[np.isfinite(slow)]) == [1000.0, 1015.0, 1030.0]
    assert list(np.diff(frame.times_s[np.isfinite(slow)])) == pytest.approx([15.0, 15.0])


@pytest.mark.parametrize(
    "line",
    [
        "{series} {value} {ms:.0f}",  # Prometheus' own format
        '{{__name__="{name}", cpu="0", instance="h:1", job="j", mode="user"}} {value} {ms:.0f}',  # promtool tsdb dump
        "{series}  {value}\t{s:.3f}",  # OpenMetrics
    ],
)
def test_time_may_be_in_seconds_or_milliseconds(line: str, tmp_path: Path) -> None:
    series = with_labels(FAST, instance="h:1", job="j")
    lines = [
        line.format(series=series, name=FAST.name, value=2 * n, ms=1000 * (START_S + n), s=START_S + n)
        for n in range(9)
    ]
    recording = open_recording(write(tmp_path / "dump", *lines))
    frame = Feed(recording).frame(START_S - 1.0, START_S + 60.0)
    assert (recording.name, frame.columns) == ("h:1", (FAST,))
    np.testing.assert_array_equal(frame.times_s, START_S + np.arange(9))
    np.testing.assert_array_equal(frame.values[:, 0], 2.0 * np.arange(9))


def test_values_that_are_no_numbers_are_gaps_and_foreign_series_are_left_out(tmp_path: Path) -> None:
    values = ["1", "NaN", "+Inf", "4"]
    lines = [f"{with_labels(FAST, odd='}} 1,')} {value} {START_S + n}" for n, value in enumerate(values)]
    lines += [f"up 1 {START_S}", f"{BUILD_INFO('1', 'r', 'p')} 1 {START_S}"]
    frame = Feed(open_recording(write(tmp_path / "host-7.prom", *lines))).frame(START_S - 1.0, START_S + 9.0)
    assert (frame.instance, frame.columns) == ("host-7", (FAST,))
    known = np.isfinite(frame.values[:, 0])
    assert list(zip(frame.times_s[known] - START_S, frame.values[known, 0], strict=True)) == [(0.0, 1.0), (3.0, 4.0)]


def test_what_node_exporter_tells_is_read_under_our_names_and_joined(tmp_path: Path) -> None:
    lines = []
    for n in range(40):
        for instance, series, value in (
            ("h:9100", 'node_cpu_seconds_total{cpu="0",mode="user"}', 2.0 * n),
            ("h:9100", "node_memory_MemTotal_bytes", 1e9),
            ("h:9400", 'DCGM_FI_DEV_GPU_UTIL{gpu="3"}', 50.0 + n % 7),
        ):
            lines.append(f"{with_labels(parse_series(series), instance=instance, job='j')} {value} {START_S + n}")
    recording = open_recording(write(tmp_path / "dump", *lines))
    frame = Feed(recording).frame(START_S - 1.0, START_S + 60.0)
    assert (recording.name, recording.interval_s) == ("h:9100", 1.0)
    assert frame.values[10, frame.columns.index(FAST)] == 20.0
    assert frame.values[10, frame.columns.index(gpu.UTILIZATION_RATIO("3"))] == pytest.approx(0.53)


def test_dump_of_several_hosts_asks_for_one(tmp_path: Path) -> None:
    lines = [f"{with_labels(FAST, instance=host)} {n} {START_S + n}" for host in ("a:1", "b:1") for n in range(3)]
    path = write(tmp_path / "dump", *lines)
    assert [one.name for one in open_recordings(path)] == ["a:1", "b:1"]
    assert open_recording(path, "b:1").name == "b:1"
    assert open_recording(path, "b").name == "b:1", "the port may be left out"
    with pytest.raises(RecordingError, match="holds several hosts; --instance may be one of a:1, b:1"):
        open_recording(path)
    with pytest.raises(RecordingError, match="'c' is not among its hosts"):
        open_recording(path, "c")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([f"{FAST} 1"], r"dump:1: has no time, and without one nothing is known of rates: hostpulse_cpu_seconds_total"),
        ([f"{FAST} 1 {START_S}", "what is this?"], r"dump:2: is no sample: 'what is this\?'"),
        ([f"{FAST} 1 {START_S}", f"{FAST} one {START_S}"], "dump:2: is no sample"),
        ([f"{FAST} 1 {START_S}"], "holds a single sample of each series"),
        (["# HELP up Up.", f"up 1 {START_S}"], "holds no samples of a family that the catalog has"),
        ([f"{FAST} 1 1", f"{FAST} 1 {START_S}"], "is damaged: its times go from 1 to"),
    ],
)
def test_what_is_wrong_in_a_dump_is_told_with_its_line(lines: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=said):
        open_recording(write(tmp_path / "dump", *lines))


def test_dump_of_a_real_tsdb_is_judged_like_what_went_into_it(tmp_path: Path) -> None:
    frame = synthetic_frame(330.0, fault_of("storage", 260.0, 290.0), interval_s=1.0)
    text = as_openmetrics([frame], tmp_path / "in.om")
    make_blocks(text, tmp_path / "data")
    (tmp_path / "data" / "wal").mkdir()  # promtool wants one
    dump = tmp_path / "dump"
    with dump.open("wb") as stream:
        subprocess.run([binary("promtool"), "tsdb", "dump", tmp_path / "data"], check=True, stdout=stream, timeout=60)
    frames = [Feed(open_recording(path)).frame(START_S, START_S + 330.0) for path in (text, dump)]
    places = [frames[1].columns.index(series) for series in frames[0].columns]
    np.testing.assert_array_equal(frames[0].times_s, frames[1].times_s)
    np.testing.assert_array_equal(frames[0].values, frames[1].values[:, places])
    settings = TABLE.model_validate({"baseline": {"duration": JUDGE.baseline_s}})
    found = replay(open_recording(dump), settings, lambda _: False)
    assert [episode.subsystem for episode in found.episodes] == ["storage"]
    assert found.judged > 50
