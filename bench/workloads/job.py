"""What a workload is: how it is set up, and what one step of it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """What a workload does with its model."""

    TRAINING = "training"
    INFERENCE = "inference"


def _alone(goes_on: bool) -> bool:
    return goes_on


@dataclass(frozen=True, slots=True)
class Job:
    """A workload that is set up. ``agree`` makes of what one process wants, to go on or not, what all of them do."""

    step: Callable[[], None]
    agree: Callable[[bool], bool] = _alone


@dataclass(frozen=True, slots=True)
class Workload:
    """``set_up`` is given a folder for its files. ``pause_s`` lies between two requests, ``needs`` is a distribution.

    One of several ``ranks`` is told by its environment which one it is.
    """

    name: str
    kind: Kind
    set_up: Callable[[Path], Job]
    pause_s: float = 0.0
    needs: str = ""
    ranks: int = 1
