"""Runs of the Reveal data set: small files made to its grammar give the catalog's families, of both kinds of hosts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from catalog.families import cpu, gpu, gpuhealth, host, memory, network, perf, storage
from catalog.series import Series
from detector.dataset_columns import parse_name
from detector.frame import Floats, Frame
from detector.recording import RecordingError, open_recording, open_recordings
from detector.replay import Feed, replay
from detector.settings import TABLE
from tests.detector.synthetic import START_S

INTERVAL_S = 0.1

Columns = Mapping[str, Sequence[float] | Floats]


def write(path: Path, columns: Columns, separator: str = "\t") -> Path:
    """A file of the data set, a row every 100 ms."""
    rows = max(map(len, columns.values()))
    lines = [separator.join(["Unnamed: 0", *columns])]
    for row in range(rows):
        time = datetime.fromtimestamp(START_S + row / 10, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        cells = ("" if math.isnan(values[row]) else f"{values[row]:.10g}" for values in columns.values())
        lines.append(separator.join([time, *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


def frame_of(path: Path, instance: str = "") -> Frame:
    return Feed(open_recording(path, instance)).frame(START_S - 1.0, START_S + 3600.0)


def column(frame: Frame, series: Series) -> list[float]:
    return [round(float(value), 6) for value in frame.values[:, frame.columns.index(series)]]


INTEL: Columns = {
    "Perf:Instructions.htc-g004[count]": [1.3e9, 1.9e9, 2.0e9],
    "Perf:Cycles.htc-g004[count]": [1.3e9, 2.0e9, 2.1e9],
    "Perf:IPC.htc-g004[-]": [98.29, 93.97, 95.2],
    "Memory:MemTotal.htc-g004[kB]": [1000, 1000, 1000],
    "Memory:MemAvailable.htc-g004[kB]": [900, 800, 700],
    "Memory:Active(anon).htc-g004[kB]": [10, 11, 12],
    "Turbostat:Busy%.0.htc-g004[%]": [50, 25, 100],
    "Turbostat:Busy%.-.htc-g004[%]": [50, 25, 100],
    "Turbostat:TSC_MHz.0.htc-g004[MHz]": [2000, 2000, 2000],
    "Turbostat:IRQ.0.htc-g004[count]": [5, 6, 7],
    "Turbostat:CPU%c6.0.htc-g004[%]": [10, 20, 30],
    "Turbostat:CoreTmp.-.htc-g004[C]": [40, 41, 42],
    "Turbostat:PkgWatt.0.htc-g004[W]": [100, 200, 100],
    "CPU:CPU0Utilization.htc-g004[%]": [50, 0, 100],
    "CPU:CPU10Utilization.htc-g004[%]": [0, 0, 0],
    "CPU:CPU2Utilization.htc-g004[%]": [100, 100, 100],
    "AverageCPUUtilization.htc-g004[%]": [50, 33, 66],
    "Storage:sectors_read.htc-g004[sectors]": [100, 102, 104],
    "Storage:time_spent_reading_(ms).htc-g004[ms]": [1000, 1500, 1600],
    "GPU: utilization.gpu.0.htc-g004[%]": [100, 90, 80],
    "GPU: utilization.gpu.1.htc-g004[%]": [0, 0, 0],
    "GPU: utilization.ofa.0.htc-g004[%]": [math.nan] * 3,
    "GPU: ecc.errors.corrected.volatile.dram.1.htc-g004[count]": [0, 0, 3],
    "NetworkInterStat_diff:rx_bytes.ib0.htc-g004[Bytes]": [10, 20, 30],
    "NetworkInterStat_diff:tx_errs.ib0.htc-g004[count]": [0, 1, 0],
    "NetworkUtilization.ib0.htc-g004[%]": [1.2, 2.5, 2.5],
    "NetworkProtocolCounts:TCP.htc-g004[count]": [85, 85, 86],
    "NetworkTCPRetrans_diff:TcpRetransSegs.htc-g004[count]": [0, 2, 1],
}
AMD: Columns = {
    "Perf:Instructions.nserver07[count]": [1e8, 2e8, 3e8],
    "Perf:IPC.nserver07[-]": [0.83, 0.56, 0.6],
    "Meminfo_diff:MemAvailable.nserver07[kB]": [0, -100, 40],
    "Turbostat:C1%.3.nserver07[%]": [10, 10, 10],
    "Turbostat:C1.3.nserver07[count]": [7, 8, 9],
    "Turbostat:CorWatt.40.nserver07[W]": [math.nan] * 3,
    "Storage_diff:writes_merged.nserver07[count]": [1, 0, 2],
}


def test_columns_of_a_gpu_host_become_families(tmp_path: Path) -> None:
    path = write(tmp_path / "train_X_2025-04-26T13-38-18_htc-g004.txt", INTEL)
    recording = open_recording(path)
    assert recording.name == "htc-g004"
    assert recording.interval_s == pytest.approx(INTERVAL_S)
    frame = frame_of(path)
    wanted: dict[Series, list[float]] = {
        perf.INSTRUCTIONS("all"): [1.3e9, 3.2e9, 5.2e9],
        memory.AVAILABLE_BYTES(): [921600.0, 819200.0, 716800.0],
        memory.ACTIVE_ANON_BYTES(): [10240.0, 11264.0, 12288.0],
        perf.TSC_CYCLES("0"): [2e8, 4e8, 6e8],
        perf.MPERF_CYCLES("0"): [1e8, 1.5e8, 3.5e8],
        cpu.INTERRUPTS("0"): [5.0, 11.0, 18.0],
        cpu.IDLE_STATE_SECONDS("0", "C6"): [0.01, 0.03, 0.06],
        host.HWMON_TEMPERATURE_CELSIUS("turbostat", "core", ""): [40.0, 41.0, 42.0],
        host.RAPL_ENERGY_JOULES("package", "0"): [10.0, 30.0, 40.0],
        cpu.SECONDS("0", "idle"): [0.05, 0.15, 0.15],
        cpu.SECONDS("10", "idle"): [0.1, 0.2, 0.3],
        cpu.SECONDS("2", "idle"): [0.0, 0.0, 0.0],
        storage.READ_BYTES("all"): [51200.0, 52224.0, 53248.0],
        storage.READ_TIME_SECONDS("all"): [1.0, 1.5, 1.6],
        gpu.UTILIZATION_RATIO("0"): [1.0, 0.9, 0.8],
        gpuhealth.ECC_ERRORS("1", "corrected", "dram"): [0.0, 0.0, 3.0],
        network.RECEIVE_BYTES("ib0"): [10.0, 30.0, 60.0],
        network.TRANSMIT_ERRORS("ib0"): [0.0, 1.0, 1.0],
        network.TCP_SOCKETS_INUSE(): [85.0, 85.0, 86.0],
        network.TCP_RETRANSMITTED_SEGMENTS(): [0.0, 2.0, 3.0],
    }
    assert {series: column(frame, series) for series in wanted} == wanted
    assert gpu.OFA_UTILIZATION_RATIO("0") not in frame.columns


def test_columns_of_a_cpu_host_that_tell_changes_are_summed(tmp_path: Path) -> None:
    frame = frame_of(write(tmp_path / "run.txt", AMD))
    assert frame.instance == "nserver07"
    assert column(frame, memory.AVAILABLE_BYTES()) == [102400.0, 0.0, 40960.0]
    assert column(frame, cpu.IDLE_STATE_SECONDS("3", "C1")) == [0.01, 0.02, 0.03]
    assert column(frame, cpu.IDLE_STATE_ENTRIES("3", "C1")) == [7.0, 15.0, 24.0]
    assert column(frame, storage.WRITES_MERGED("all")) == [1.0, 1.0, 3.0]
    assert len(frame.columns) == 5


def test_file_of_two_hosts_asks_for_one_and_commas_will_do(tmp_path: Path) -> None:
    path = write(tmp_path / "run.txt", {**INTEL, **AMD}, ",")
    assert [one.name for one in open_recordings(path)] == ["htc-g004", "nserver07"]
    assert perf.INSTRUCTIONS("all") in frame_of(path, "nserver07").columns
    with pytest.raises(RecordingError, match="--instance may be one of htc-g004, nserver07"):
        open_recording(path)


def test_rows_without_values_stay_gaps_and_rows_out_of_order_are_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "run.txt", {"Perf:Cycles.h[count]": [1, math.nan, 2, 4], "CPU:CPU0Utilization.h[%]": [50] * 4}
    )
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1]]) + "\n")
    frame = frame_of(path)
    assert len(frame.times_s) == 4
    np.testing.assert_array_equal(frame.values[:, frame.columns.index(perf.CYCLES("all"))], [1, math.nan, 3, 7])


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        ({"Perf:IPC.h[-]": [1, 2]}, None, "none of the columns of h is a family of the catalog"),
        ({"Perf:Cycles.h[count]": [1]}, None, "holds 1 rows, and rates need several"),
        ({"Perf:Cycles.h[count]": [1, 2]}, "soon\t3", "is damaged: "),
        ({"Perf:Cycles.h[count]": [1, 2]}, "2027-01-15 08:00:00.300\tmany", "is damaged: .*many"),
    ],
)
def test_what_cannot_be_read_of_a_run_is_said(
    columns: dict[str, list[float]], rows: str | None, said: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "run.txt", columns)
    if rows:
        path.write_text(path.read_text() + rows + "\n")
    with pytest.raises(RecordingError, match=f"run.txt: {said}"):
        open_recording(path)


def test_name_that_is_no_column_of_the_data_set_is_told_apart() -> None:
    assert parse_name("time") is None
    assert parse_name("Perf:Cycles[count]") is None


def test_run_with_a_slow_disk_is_blamed_on_storage(tmp_path: Path) -> None:
    rows, generator = 1600, np.random.default_rng(0)
    slow = np.arange(rows) >= 1300
    noise = 1.0 + 0.2 * generator.standard_normal((6, rows))
    columns: Columns = {
        "Storage_diff:writes_completed.h[count]": np.round(20 * noise[0]),
        "Storage_diff:time_spent_writing_(ms).h[ms]": np.round(20 * noise[1]) + 3000 * slow,
        "Storage_diff:time_spent_doing_I/Os_(ms).h[ms]": np.round(10 * noise[2]) + 85 * slow,
        "Storage_diff:weighted_time_spent_doing_I/Os_(ms).h[ms]": np.round(20 * noise[3]) + 3000 * slow,
        "CPU:CPU0Utilization.h[%]": 30 * noise[4],
        "NetworkInterStat_diff:rx_bytes.eth0.h[Bytes]": 1e5 * noise[5],
    }
    settings = TABLE.model_validate({"baseline": {"duration": "100s"}})
    found = replay(open_recording(write(tmp_path / "run.txt", columns)), settings, lambda _: False)
    assert [(episode.subsystem, episode.start_s - START_S > 125) for episode in found.episodes] == [("storage", True)]


def test_capture_is_told_apart_with_what_to_do_instead(tmp_path: Path) -> None:
    (tmp_path / "host.txt").write_text("# hostpulse capture 1\npage_bytes 4096\n")
    with pytest.raises(RecordingError, match=r"is a capture, which is one moment of a host.*hostpulse-exporter record"):
        open_recording(tmp_path / "host.txt")
