"""Made data for tests of the detection benchmark: scores with labels, and folders of the form that it reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.detection.events import inside, spans

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def labelled_scores(seed: int, length: int, decimals: int) -> tuple[Bools, Floats]:
    """Four stretches of labels and scores that are higher there, with as many digits."""
    draw = np.random.default_rng(seed)
    starts = draw.integers(0, length - 20, 4)
    label = inside(np.stack([starts, starts + draw.integers(1, 20, 4)], axis=1).astype(np.intp), length)
    score: Floats = np.round(draw.random(length) + np.where(label, 0.4, 0.0), decimals)
    return label, score


def machine_arrays(
    columns: int, train: int, test: int, faults: Sequence[tuple[int, int]], moved: int
) -> dict[str, Any]:
    """Arrays of one machine of steady noise in which column ``moved`` jumps during the faults."""
    draw = np.random.default_rng(columns)
    values = np.clip(draw.normal(0.5, 0.02, (columns, train + test)), 0, 1).astype(np.float32)
    label = inside(np.array(faults, dtype=np.intp), test)
    values[moved, train:][label] = 0.95
    truth = np.zeros((len(faults), columns), dtype=np.int8)
    truth[:, moved] = 1
    return {
        "train_T": values[:, :train],
        "test_T": values[:, train:],
        "test_label": label.astype(np.int8),
        "interp_segments": spans(label).astype(np.int32),
        "interp_dims": truth,
    }


def write_runs(folder: Path, lost: bool) -> None:
    """A clean run and four with a memory leak or CPU use in their middles; the file of a fifth may be lost."""
    folder.mkdir(parents=True)
    columns, kinds = ["meminfo:MemFree", "procstat:user", "procstat:sys", "vmstat:pgfault"], ["gauge", *["rate"] * 3]
    runs: list[dict[str, Any]] = [{"run": "clean", "app": "made", "intervals": []}]
    draw = np.random.default_rng(3)
    for number in range(5):
        values = draw.normal(100.0, 2.0, (4, 400)).astype(np.float32)
        mask = np.zeros(400, dtype=np.int8)
        if number:
            kind = number % 2
            start = 150 + 10 * number
            values[0 if kind else 1, start : start + 120] += 60.0
            mask[start : start + 120] = 2 if kind else 1
            name = ["cpuoccupy", "memleak"][kind]
            runs.append({"run": f"run{number}", "app": "made", "intervals": [[start, start + 120, name, ""]]})
        np.savez(folder / f"{runs[-1]['run']}.npz", X_T=values, t=np.arange(1, 401), label_mask=mask)
    if lost:
        runs.append({"run": "lost", "app": "made", "intervals": [[1, 2, "memleak", ""]]})
    meta = {"columns": columns, "kind": kinds, "label_bits": {"1": "cpuoccupy", "2": "memleak"}, "runs": runs}
    (folder / "meta.json").write_text(json.dumps(meta))
