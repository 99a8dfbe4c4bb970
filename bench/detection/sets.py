"""Labelled telemetry as arrays: what each data set declares of its columns, and how a machine of it is loaded.

Only what a data set's own description says is written here; all else is derived from the train split by one method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from catalog.series import Series
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Scale, Worse
from detector.channels import Channel
from detector.frame import Floats

FLOOR_SHARE = 0.02  # of a column's range: a deviation below it is too small to matter, in any column

Bools = npt.NDArray[np.bool_]
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """Rank by the causal mean of ``smooth`` scores; ``quick``: one model that learns no more; figures of ``each``
    machine too; ``dump``: where to leave the scores; windows ``times`` as long as the shipped ones, None: as the train
    split asks for, each so many ``strides`` after the last."""

    smooth: int = 1
    quick: bool = False
    each: bool = False
    dump: Path | None = None
    times: float | None = 1.0
    strides: int = 1


class DataError(Exception):
    """Data that cannot be used; the message names the file or folder and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine's ``train`` float64[T, C] and ``test`` float64[N, C], sampled every ``interval_s``.

    ``label`` bool[N]; ``segments`` intp[S, 2] are [start, end) of those whose anomalous columns are known, ``truth``
    bool[S, C] which they are.
    """

    name: str
    interval_s: float
    channels: tuple[Channel, ...]
    train: Floats
    test: Floats
    label: Bools
    segments: npt.NDArray[np.intp]
    truth: Bools


@dataclass(frozen=True, slots=True)
class Declared:
    """What a data set says of itself. ``subsystems`` by column, empty where columns are unnamed; ``scaled`` where all
    columns already lie in [0, 1]."""

    interval_s: float
    subsystems: tuple[str, ...] = field(default=())
    scaled: bool = False


_SMD = ("cpu",) * 4 + ("memory",) * 4 + ("storage",) * 8 + ("memory",) * 2 + ("network",) * 20
SETS = {
    "smd": Declared(60.0, _SMD, scaled=True),
    "asd": Declared(300.0),
    "jumpstarter": Declared(300.0),
}
RUNS = "hpas"  # of an application, not days of a machine
NAMES = (*SETS, RUNS)


def files(folder: Path) -> Sequence[Path]:
    """The machines of a data set, in order of their names; none where the folder is not there."""
    return sorted(folder.glob("*.npz"))


def arrays(path: Path, *names: str) -> dict[str, npt.NDArray[Any]]:
    """The named arrays of a file; DataError where it is no such file or lacks one of them."""
    try:
        with np.load(path, allow_pickle=False) as opened:
            missing = [name for name in names if name not in opened.files]
            if missing:
                raise DataError(f"{path}: there is no array {missing[0]!r}; {', '.join(names)} are needed")
            return {name: opened[name] for name in names}
    except (OSError, ValueError, BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as an .npz file: {error}") from error


def load(path: Path, declared: Declared) -> Machine:
    """One machine of a data set; DataError where its arrays do not fit each other."""
    found = arrays(path, "train_T", "test_T", "test_label", "interp_segments", "interp_dims")
    train, test = found["train_T"].T.astype(np.float64), found["test_T"].T.astype(np.float64)
    label = found["test_label"].astype(bool)
    count = train.shape[1]
    if test.shape != (len(label), count):
        raise DataError(f"{path}: test_T {test.shape[::-1]} must be {count} columns of {len(label)} labels")
    subsystems = declared.subsystems or (JUDGED_SUBSYSTEMS[0],) * count
    if len(subsystems) != count:
        raise DataError(f"{path}: there are {count} columns; this data set has {len(subsystems)}")
    ranges = np.ones(count) if declared.scaled else column_ranges(train)
    channels = tuple(
        channel(f"column_{number}", subsystem, float(FLOOR_SHARE * ranges[number]))
        for number, subsystem in enumerate(subsystems)
    )
    segments, truth = found["interp_segments"].astype(np.intp), found["interp_dims"].astype(bool)
    if segments.shape != (len(truth), 2) or truth.shape[1:] != (count,):
        raise DataError(f"{path}: interp_dims {truth.shape} must be a row of {count} for each of interp_segments")
    return Machine(path.stem, declared.interval_s, channels, train, test, label, segments, truth)


def column_ranges(train: Floats) -> Floats:
    """Highest less lowest value of each column of ``train`` [T, C]; where it never moves, its size, and 1 at zero."""
    highest, lowest = np.nanmax(train, axis=0), np.nanmin(train, axis=0)
    size = np.abs(highest)
    return np.where(highest > lowest, highest - lowest, np.where(size > 0, size, 1.0))


def channel(name: str, subsystem: str, floor: float, scale: Scale = Scale.LINEAR) -> Channel:
    """A channel of which nothing but the subsystem is known."""
    return Channel(Series(name), "", subsystem, Role.UTILISATION, Worse.EITHER, floor, scale)
