"""The recorded runs of workloads as one host's past: its channels, its windows, and whose run each of them lies in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.detection.events import Bools
from bench.paper.stability import profile
from bench.workloads.recorded import Runs
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.channels import Channels, evaluate
from detector.features import Features
from detector.frame import Floats, Frame
from detector.judge import Judge
from detector.pipeline import features_at
from detector.recording import open_recording
from detector.replay import Feed
from detector.settings import TABLE
from detector.watch import judge_for

DEFAULT, FINE = "default", "fine"
_WINDOWS: Mapping[str, Mapping[str, str]] = {DEFAULT: {}, FINE: {"duration": "1s", "stride": "500ms"}}
_SETTLING_S = 1.0  # of a run: what was before it still shows


@dataclass(frozen=True)
class Past:
    """What was recorded, read once."""

    runs: Runs

    @cached_property
    def interval_s(self) -> float:
        """Of the fastest tier."""
        return open_recording(self.runs.directory).interval_s

    @cached_property
    def frame(self) -> Frame:
        """All samples."""
        recording = open_recording(self.runs.directory)
        first_s, last_s = recording.span_s
        return Feed(recording).frame(first_s - 1.0, last_s)

    @cached_property
    def channels(self) -> Channels:
        """All channels of it."""
        return evaluate(self.frame)

    def judge(self, name: str) -> Judge:
        """How it is judged with the default windows or with fine ones."""
        return judge_for(TABLE.model_validate({"window": dict(_WINDOWS[name])}), self.interval_s)

    def windows(self, judge_by: Judge) -> Features:
        """All windows that have samples."""
        first_s = np.ceil(self.frame.times_s[0] + judge_by.window_s)
        ends_s = np.arange(first_s, self.frame.times_s[-1], judge_by.stride_s)
        found = features_at(self.frame, ends_s, judge_by)
        there = ~np.isnan(found.x).all(axis=1)
        return Features(found.end_s[there], found.x[there], found.features)

    def profiles(self) -> Floats:
        """Quantiles of each channel in each run, float64[R, Q, C]."""
        each = []
        for run in self.runs.runs:
            first, last = self.channels.times_s.searchsorted((run.span_s[0] + _SETTLING_S, run.span_s[1]))
            each.append(profile(self.channels.values[first:last]))
        return np.stack(each)

    def during(self, ends_s: Floats, workloads: frozenset[str]) -> Bools:
        """Which window ends float64[N] lie in a run of one of the workloads, bool[N]."""
        inside = np.zeros(len(ends_s), dtype=bool)
        for run in self.runs.runs:
            if run.workload in workloads:
                inside |= (ends_s > run.span_s[0]) & (ends_s <= run.span_s[1])
        return inside


def leading(shares: Floats, flagged: Bools) -> dict[str, float]:
    """How often each subsystem has the largest of the shares [N, G] where flagged bool[N]; those that ever have."""
    first = shares[flagged & (shares.sum(axis=1) > 0)].argmax(axis=1)
    counts = np.bincount(first, minlength=len(JUDGED_SUBSYSTEMS))
    return {name: float(many) / len(first) for name, many in zip(JUDGED_SUBSYSTEMS, counts, strict=True) if many}
