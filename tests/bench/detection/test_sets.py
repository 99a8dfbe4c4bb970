from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.detection import hpas
from bench.detection.sets import SETS, DataError, Declared, column_ranges, files, load
from tests.bench.detection.made import machine_arrays, write_runs


def test_machine_is_loaded_with_time_first_and_floors_by_the_train_range(tmp_path: Path) -> None:
    arrays = machine_arrays(3, 50, 40, [(10, 20)], moved=1)
    arrays["train_T"] = np.array([np.linspace(0, 500, 50), np.full(50, 8.0), np.zeros(50)], dtype=np.float32)
    np.savez(tmp_path / "one.npz", **arrays)
    machine = load(tmp_path / "one.npz", Declared(300.0))
    assert (machine.train.shape, machine.test.shape, machine.label.sum()) == ((50, 3), (40, 3), 10)
    assert [channel.floor for channel in machine.channels] == pytest.approx([10.0, 0.16, 0.02])
    assert machine.truth.tolist() == [[False, True, False]]


def test_columns_that_are_scaled_already_share_one_floor(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", **machine_arrays(38, 50, 40, [(10, 20)], moved=1))
    machine = load(tmp_path / "one.npz", SETS["smd"])
    assert {channel.floor for channel in machine.channels} == {0.02}
    assert [machine.channels[column].subsystem for column in (0, 4, 8, 16, 18, 37)] == [
        "cpu", "memory", "storage", "memory", "network", "network",
    ]  # fmt: skip


def test_range_of_a_column_is_never_zero() -> None:
    ranges = column_ranges(np.array([[1.0, -4.0, 0.0, np.nan], [3.0, -4.0, 0.0, 2.0]]))
    assert ranges.tolist() == [2.0, 4.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"test_label": None}, "no array 'test_label'"),
        ({"test_label": np.zeros(7)}, "must be 38 columns of 7 labels"),
        ({"interp_dims": np.zeros((1, 5))}, "must be a row of 38"),
        ({"train_T": np.zeros((5, 50)), "test_T": np.zeros((5, 40))}, "5 columns; this data set has 38"),
    ],
)
def test_file_that_does_not_fit_is_named_with_what_is_wrong(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    arrays = machine_arrays(38, 50, 40, [(10, 20)], moved=1) | change
    np.savez(tmp_path / "odd.npz", **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(DataError, match=rf"odd\.npz: .*{complaint}"):
        load(tmp_path / "odd.npz", SETS["smd"])


def test_file_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    assert [path.name for path in files(tmp_path)] == ["text.npz"]
    with pytest.raises(DataError, match=r"text\.npz: cannot be read"):
        load(tmp_path / "text.npz", SETS["asd"])


def test_plan_tells_clean_runs_from_faulty_and_counts_those_without_a_file(tmp_path: Path) -> None:
    write_runs(tmp_path / "hpas", lost=True)
    plan = hpas.plan(tmp_path / "hpas")
    assert plan.clean == {"made": "clean"}
    assert plan.faulty == {"made": ["run1", "run2", "run3", "run4"]}
    assert plan.missing == 1
    assert plan.gauge.tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"memleak"', '"earthquake"', "nothing is known of 'earthquake'"),
        ('"columns"', '"colums"', "'columns'"),
        ('"intervals": []', '"intervals": [[1, 2, "memleak", ""]]', "no application has both"),
    ],
)
def test_plan_that_cannot_be_followed_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    write_runs(tmp_path / "hpas", lost=False)
    path = tmp_path / "hpas" / "meta.json"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError, match=rf"meta\.json: .*{complaint}"):
        hpas.plan(tmp_path / "hpas")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("procstat:per_core_user3", "cpu"),
        ("procstat:per_core_iowait3", "storage"),
        ("meminfo:MemFree", "memory"),
        ("meminfo:Dirty", "storage"),
        ("vmstat:nr_writeback", "storage"),
        ("vmstat:pgpgout", "storage"),
        ("vmstat:pgfault", "memory"),
        ("vmstat:nr_dirty_threshold", "memory"),
    ],
)
def test_columns_of_a_host_belong_to_their_subsystem(column: str, expected: str) -> None:
    assert hpas.subsystem(column) == expected
