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

from bench.detection.replay import Bools, Live, Scored, learned, live, scored, shipped_judge, times_asked_for
from bench.detection.sets import FLOOR_SHARE, DataError, Options, arrays, channel, column_ranges
from catalog.signal import Scale
from detector.channels import Channel, Channels
from detector.features import Features, extract
from detector.frame import Floats
from detector.judge import Judge
from detector.state import HostState

INTERVAL_S = 1.0
SETTLING_S = 30.0  # gauges are taken relative to the first seconds of a run, which are not judged
SUBSYSTEM = {"cpuoccupy": "cpu", "cachecopy": "cpu", "memleak": "memory"}
_STORAGE = ("pgpgin", "pgpgout", "iowait", "dirt", "Dirty", "written", "riteback", "write_pending")
_MEMORY = ("threshold",)  # of dirty pages: a share of the memory that is free
GAP_S = 1000.0  # after the clean run: no window holds samples of two runs

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
    """The judged samples of one run: seconds since its begin [N], the bits of the faults at them int8[N], and what was
    said in the newest windows, which are ``window_s`` long."""

    name: str
    elapsed_s: Floats
    bits: Bits
    static: Scored
    running: Live | None
    window_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """The windows of one run, and its samples from the end of the first one on: seconds since its begin [N] and the
    bits of the faults int8[N]."""

    windows: Features
    elapsed_s: Floats
    bits: Bits


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
    strides = options.strides

    def after(times: float) -> tuple[HostState, Judge]:
        judge_by = shipped_judge(INTERVAL_S, times, strides)
        return learned(clean_windows(plan, app, judge_by, strides), judge_by), judge_by

    state, judge_by = after(options.times or times_asked_for(*after(1.0)))
    assert state.model is not None, "a fit leaves a model"
    result = []
    for name in runs:
        run = windows_of(plan, app, name, state.last_end_s + GAP_S, judge_by, strides)
        rows = np.arange(len(run.elapsed_s)) // strides  # what the newest window said is said until the next one
        nothing = np.zeros(len(run.windows.end_s), dtype=bool)
        running = None if options.quick else live(run.windows, state, judge_by, nothing).at(rows)
        static = scored(state.model, run.windows.x, judge_by).at(rows)
        result.append(Judged(name, run.elapsed_s, run.bits, static, running, judge_by.window_s))
    return result


def clean_windows(plan: Plan, app: str, judge_by: Judge, strides: int = 1) -> Features:
    """The windows of the clean run of an application, each so many samples after the last."""
    return windows_of(plan, app, plan.clean[app], 0.0, judge_by, strides).windows


def windows_of(plan: Plan, app: str, name: str, begin_s: float, judge_by: Judge, strides: int = 1) -> Run:
    """A run of an application as if it had begun at ``begin_s``, from where its windows lie behind its settling on."""
    clean, elapsed_s, _, begin = _run(plan, plan.clean[app])
    channels = _channels(plan, clean[elapsed_s > SETTLING_S], begin)
    values, elapsed_s, bits, _ = _run(plan, name)
    judged = elapsed_s >= SETTLING_S + judge_by.window_s
    ends_s = begin_s + elapsed_s[judged][::strides]
    windows = extract(Channels(begin_s + elapsed_s, values, channels), ends_s, judge_by.window_s)
    return Run(windows, elapsed_s[judged], bits[judged])


def _run(plan: Plan, name: str) -> tuple[Floats, Floats, Bits, Floats]:
    """Values [N, C] with gauges relative to how the run began, elapsed seconds [N], label bits [N], and how each column
    [C] began."""
    found = arrays(plan.folder / f"{name}.npz", "X_T", "t", "label_mask")
    values, elapsed_s = found["X_T"].T.astype(np.float64), found["t"].astype(np.float64)
    if values.shape[1] != len(plan.columns):
        raise DataError(f"{name}.npz: {values.shape[1]} columns, meta.json names {len(plan.columns)}")
    begin = np.median(values[elapsed_s <= SETTLING_S], axis=0)
    return values - np.where(plan.gauge, begin, 0.0), elapsed_s, found["label_mask"].astype(np.int8), begin


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
