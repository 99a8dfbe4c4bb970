"""Runs of applications on one host, with faults injected in some: an application's clean run teaches, the others are
judged, each as if the host had just begun it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.detection.replay import Bools, Live, Scored, learned, live, scored, shipped_judge
from bench.detection.sets import FLOOR_SHARE, DataError, Options, arrays, channel, column_ranges
from catalog.signal import Scale
from detector.channels import Channel, Channels
from detector.features import Features, extract
from detector.frame import Floats
from detector.judge import Judge

INTERVAL_S = 1.0
SETTLING_S = 30.0  # gauges are taken relative to the first seconds of a run, which are not judged
SUBSYSTEM = {"cpuoccupy": "cpu", "cachecopy": "cpu", "memleak": "memory"}
_STORAGE = ("pgpgin", "pgpgout", "iowait", "dirt", "Dirty", "written", "riteback", "write_pending")
_MEMORY = ("threshold",)  # of dirty pages: a share of the memory that is free
_GAP_S = 1000.0  # after the clean run: no window holds samples of two runs

Bits = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Plan:
    """What ``meta.json`` says: ``columns`` with ``gauge`` bool[C], the name of the ``clean`` run of each
    application and those of its other runs, how many of all have no file, and the fault that each bit of a label is."""

    folder: Path
    columns: tuple[str, ...]
    gauge: Bools
    clean: dict[str, str]
    faulty: dict[str, list[str]]
    missing: int
    faults: dict[int, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """The judged windows of one run: seconds since its begin [N], the bits of the faults at their ends int8[N], and
    what was said of them."""

    name: str
    elapsed_s: Floats
    bits: Bits
    static: Scored
    running: Live | None


def plan(folder: Path) -> Plan:
    """Read ``meta.json``; DataError where it is not as it should be."""
    path = folder / "meta.json"
    try:
        meta: dict[str, Any] = json.loads(path.read_text())
        faults = {int(bit): str(fault) for bit, fault in meta["label_bits"].items()}
        runs = [(str(run["run"]), str(run["app"]), bool(run["intervals"])) for run in meta["runs"]]
        columns, gauge = tuple(meta["columns"]), np.array([kind == "gauge" for kind in meta["kind"]])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read, or lacks a key: {error}") from error
    unknown = sorted(set(faults.values()) - SUBSYSTEM.keys())
    if unknown:
        raise DataError(f"{path}: label_bits: nothing is known of {unknown[0]!r}, only of {', '.join(SUBSYSTEM)}")
    there = [run for run in runs if (folder / f"{run[0]}.npz").is_file()]
    clean = {app: name for name, app, faulty in there if not faulty}
    faulty = {app: [name for name, of, faulty in there if faulty and of == app] for app in clean}
    if not any(faulty.values()):
        raise DataError(f"{path}: runs: no application has both a run without intervals and one with them")
    return Plan(folder, columns, gauge, clean, faulty, len(runs) - len(there), faults)


def judged(plan: Plan, app: str, runs: Sequence[str], options: Options) -> list[Judged]:
    """Runs of one application by what its clean run taught."""
    judge_by = shipped_judge(INTERVAL_S)
    values, elapsed_s, _, begin = _run(plan, plan.clean[app])
    channels = _channels(plan, values[elapsed_s > SETTLING_S], begin)
    train = _features(values, elapsed_s, channels, judge_by)
    state = learned(train, judge_by)
    assert state.model is not None, "a fit leaves a model"
    result = []
    for name in runs:
        values, elapsed_s, bits, _ = _run(plan, name)
        begin_s = state.last_end_s + _GAP_S
        test = _features(values, elapsed_s + begin_s, channels, judge_by, begin_s)
        rows = np.searchsorted(elapsed_s, test.end_s - begin_s)
        running = None if options.quick else live(test, state, judge_by, np.zeros(len(rows), dtype=bool))
        result.append(Judged(name, elapsed_s[rows], bits[rows], scored(state.model, test.x, judge_by), running))
    return result


def _run(plan: Plan, name: str) -> tuple[Floats, Floats, Bits, Floats]:
    """Values [N, C] with gauges relative to how the run began, elapsed seconds [N], label bits [N], and how each column
    [C] began."""
    found = arrays(plan.folder / f"{name}.npz", "X_T", "t", "label_mask")
    values, elapsed_s = found["X_T"].T.astype(np.float64), found["t"].astype(np.float64)
    if values.shape[1] != len(plan.columns):
        raise DataError(f"{name}.npz: {values.shape[1]} columns, meta.json names {len(plan.columns)}")
    begin = np.median(values[elapsed_s <= SETTLING_S], axis=0)
    return values - np.where(plan.gauge, begin, 0.0), elapsed_s, found["label_mask"].astype(np.int8), begin


def _features(
    values: Floats, times_s: Floats, channels: tuple[Channel, ...], judge_by: Judge, begin_s: float = 0.0
) -> Features:
    """Features of the windows that lie behind the settling of a run that began at ``begin_s``."""
    ends_s = times_s[times_s - begin_s >= SETTLING_S + judge_by.window_s]
    return extract(Channels(times_s, values, channels), ends_s, judge_by.window_s)


def _channels(plan: Plan, train: Floats, begin: Floats) -> tuple[Channel, ...]:
    """What is too small to matter of a level is so beside the whole level, of which a run moves only a part; and of
    events that the clean run had none of, fewer than one a second."""
    still = train.max(axis=0) == train.min(axis=0)
    least = np.where(plan.gauge, FLOOR_SHARE * np.abs(begin), np.where(still, 1.0, 0.0))
    floors = np.maximum(FLOOR_SHARE * column_ranges(train), least)
    return tuple(
        channel(name, subsystem(name), float(floor), Scale.LINEAR if gauge else Scale.RELATIVE)
        for name, floor, gauge in zip(plan.columns, floors, plan.gauge, strict=True)
    )


def subsystem(column: str) -> str:
    """Whose a column is: ``procstat`` tells of the CPU, the others of memory, and some of either of storage."""
    source, _, name = column.partition(":")
    if any(word in name for word in _STORAGE) and not any(word in name for word in _MEMORY):
        return "storage"
    return "cpu" if source == "procstat" else "memory"
