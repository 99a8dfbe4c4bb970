"""Looks at the probes of the frame that a verdict was made from: what they do beside what they did before the onset."""

from __future__ import annotations

import math

import numpy as np

from catalog.signal import Role
from detector.channels import Channel, evaluate
from detector.diagnosis.diagnose import Moved
from detector.diagnosis.probes import PROBES
from detector.features import Feature, to_scale
from detector.frame import Floats, Frame
from detector.incidents.window import LEVEL
from detector.scaling import LEAST_SPREAD

_SUDDEN = {Role.ERROR, Role.STATE}  # a single sample of these says enough


class Probing:
    """Keeps of each probe what it did most since the onset."""

    def __init__(self, onset_s: float, window_s: float) -> None:
        self._onset_s, self._window_s = onset_s, window_s
        self._before: dict[str, float] = {}
        self._most: dict[str, Moved] = {}

    def look(self, frame: Frame) -> None:
        """Look at the samples around the onset, and those that came later."""
        channels = evaluate(frame, PROBES.values())
        past = channels.times_s <= self._onset_s - self._window_s
        now = channels.times_s > self._onset_s - self._window_s
        for column, channel in enumerate(channels.channels):
            values = channels.values[:, column]
            before = self._before.setdefault(str(channel), _median(values[past]))
            if math.isfinite(before) and np.isfinite(values[now]).any():
                self._note(_moved(channel, before, values[now]))

    @property
    def moved(self) -> list[Moved]:
        """What each probe did."""
        return list(self._most.values())

    def _note(self, moved: Moved) -> None:
        known = self._most.get(str(moved.channel))
        if known is None or abs(moved.deviation) > abs(known.deviation):
            self._most[str(moved.channel)] = moved


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def _moved(channel: Channel, before: float, values: Floats) -> Moved:
    known = values[np.isfinite(values)]
    farthest = float(known[np.abs(known - before).argmax()])
    actual = farthest if channel.role in _SUDDEN else float(known.mean())
    typical_x, actual_x = to_scale(np.array([[before], [actual]]), (Feature(channel, LEVEL),))[:, 0]
    return Moved(channel, float(actual_x - typical_x) / LEAST_SPREAD[channel.scale], before, actual)
