"""Follows the verdicts of one host and makes incidents of its episodes.

What a window deviates by counts beside what the host deviated by just before the onset: an incident is what changed.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from catalog.signal import Role
from detector.diagnosis.diagnose import Moved, diagnose
from detector.diagnosis.signature import Signature
from detector.facts import facts_of
from detector.incidents.incident import Incident, Line, Onset, identity
from detector.incidents.probing import Probing
from detector.incidents.window import Levels, Window
from detector.sink import Judged
from detector.source import Host
from detector.verdict import Cause, Verdict

BEFORE_S = 60.0  # shown before the onset
_BEFORE_WINDOWS = 20  # that are compared with
_MOST_BEFORE = 64
_MOST_POINTS = 240
_MOST_LINES = 8
_SOON_S, _RARELY = 2.0, 0.15  # an incident is written anew after so long, or so much of the time it has lasted
_BEGUN = 4.0  # robust standard deviations beyond those before the onset

Rows = npt.NDArray[np.float32]


class Case:
    """One host. ``take`` gives the incident whenever it is worth writing."""

    def __init__(self, host: Host, signatures: Sequence[Signature]) -> None:
        self.host = host
        self._facts: dict[str, str] = {}
        self._signatures = signatures
        self._levels = Levels()
        self._windows: deque[Window] = deque(maxlen=_MOST_BEFORE)
        self._open: _Episode | None = None

    def take(self, judged: Judged) -> Incident | None:
        """Take the next verdict."""
        verdict = judged.verdict
        window, renewed = self._levels.take(verdict)
        if renewed:
            self._windows.clear()
            if self._open is not None:
                self._open.forget()
        if window is not None:
            self._windows.append(window)
        if not verdict.active or math.isnan(verdict.onset_s):
            return self._close(verdict.end_s)
        if self._open is None or self._open.onset_s != verdict.onset_s:
            known = [one for one in self._windows if one.end_s > verdict.onset_s - BEFORE_S]
            self._open = _Episode(verdict, judged.window_s, known)
        elif window is not None:
            self._open.rows.append(window)
        if self._open.take(verdict):
            self._open.probing.look(judged.frame)
            self._facts |= facts_of(judged.constants, judged.frame)
            return self._incident(self._open)
        return None

    def leave(self) -> Incident | None:
        """The incident that is open, ended where it was last seen: no more will be known of it."""
        return None if self._open is None else self._close(self._open.seen_s)

    def _close(self, end_s: float) -> Incident | None:
        """An episode that resumes has the onset it had, and goes on as the same incident."""
        if self._open is None or self._open.end_s is not None:
            return None
        self._open.end_s = max(end_s, self._open.seen_s)  # the past may be judged anew meanwhile
        return self._incident(self._open)

    def _incident(self, episode: _Episode) -> Incident:
        contrast, extreme = episode.contrast(len(self._levels.features))
        actual = self._levels.values(episode.mean_level(self._levels.median))
        typical = self._levels.values(self._levels.median)
        moved = [
            Moved(
                channel,
                float(extreme[column] if channel.role is Role.ERROR else contrast[column]),
                float(typical[column]),
                float(actual[column]),
            )
            for column, channel in enumerate(self._levels.channels)
        ]
        moved += episode.probing.moved
        verdict = episode.highest
        return Incident.model_validate(
            {
                "id": identity(self.host, episode.onset_s),
                "instance": self.host.instance,
                "job": self.host.job,
                "onset": episode.onset_s,
                "opened": episode.opened_s,
                "seen": episode.seen_s,
                "end": episode.end_s,
                "peak": episode.peak,
                "page": episode.page,
                "subsystem": episode.subsystem,
                "shares": episode.shares(),
                "order": self._order(episode),
                "signatures": diagnose(moved, self._signatures),
                "features": tuple(cause for cause in verdict.causes if _finite(cause)),
                "votes": {name: score for name, score in verdict.detectors.items() if math.isfinite(score)},
                "curve": tuple((row.end_s, row.score) for row in episode.rows if math.isfinite(row.score)),
                "series": self._series(episode),
                "facts": dict(self._facts),
            }
        )

    def _series(self, episode: _Episode) -> tuple[Line, ...]:
        """What moved most, over time."""
        position = {str(channel): column for column, channel in enumerate(self._levels.channels)}
        wanted = [cause.channel for cause in episode.highest.causes if cause.channel in position][:_MOST_LINES]
        if not wanted or not episode.rows:
            return ()
        columns = [position[name] for name in wanted]
        values = self._levels.values(np.stack([row.x for row in episode.rows]))[:, columns]
        typical = self._levels.values(self._levels.median)[columns]
        return tuple(
            Line(
                channel=name,
                subsystem=self._levels.channels[column].subsystem,
                unit=self._levels.channels[column].unit,
                typical=float(typical[number]),
                points=tuple(
                    (row.end_s, float(value))
                    for row, value in zip(episode.rows, values[:, number], strict=True)
                    if math.isfinite(value)
                ),
            )
            for number, (name, column) in enumerate(zip(wanted, columns, strict=True))
        )

    def _order(self, episode: _Episode) -> tuple[Onset, ...]:
        """When each subsystem began to deviate, the first first."""
        first: dict[str, Onset] = {}
        before, channels = episode.before(len(self._levels.features)), self._levels.channels
        for row in episode.during:
            beyond = np.nan_to_num(np.abs(row.z)) - np.abs(before)
            for column in np.flatnonzero(beyond > _BEGUN):
                channel = channels[column]
                first.setdefault(
                    channel.subsystem,
                    Onset.model_validate({"subsystem": channel.subsystem, "since": row.end_s, "channel": str(channel)}),
                )
        return tuple(first.values())


class _Episode:
    """An episode as it goes on. ``rows`` are its windows and those before it, thinned when they become many."""

    def __init__(self, verdict: Verdict, window_s: float, rows: Sequence[Window]) -> None:
        self.onset_s, self.opened_s, self.subsystem = verdict.onset_s, verdict.end_s, verdict.subsystem
        self.rows = list(rows)
        self.seen_s, self.end_s = verdict.end_s, None if verdict.active else verdict.end_s
        self.peak, self.page, self.highest = -math.inf, False, verdict
        self.probing = Probing(verdict.onset_s, window_s)
        self._window_s = window_s
        self._shares: dict[str, float] = {}
        self._counted = 0
        self._told_s = -math.inf
        self._before: Rows | None = None

    def forget(self) -> None:
        """Give up the windows: the model's columns are other ones now."""
        self.rows, self._before = [], None

    def take(self, verdict: Verdict) -> bool:
        """Take an active verdict; whether there is enough news to write them down."""
        self.end_s, self.seen_s, self.page = None, verdict.end_s, self.page or verdict.page
        self.subsystem = verdict.subsystem  # of one that resumes it may only now be known
        if verdict.score > self.peak:  # False where it is NaN
            self.peak, self.highest = verdict.score, verdict
        if verdict.shares:
            self._counted += 1
            for name, share in verdict.shares.items():
                self._shares[name] = self._shares.get(name, 0.0) + share
        if len(self.rows) > _MOST_POINTS:
            self.rows = self.rows[::2] if len(self.rows) % 2 else self.rows[1::2]
        patience_s = max(_SOON_S, _RARELY * (verdict.end_s - self.opened_s))
        if verdict.end_s - self._told_s < patience_s:
            return False
        self._told_s = verdict.end_s
        return True

    @property
    def during(self) -> list[Window]:
        """The windows since the onset."""
        return [row for row in self.rows if row.end_s >= self.onset_s]

    def shares(self) -> dict[str, float]:
        """The mean share of each subsystem while it was open."""
        return {name: total / self._counted for name, total in self._shares.items()}

    def before(self, width: int) -> Rows:
        """What each channel deviated by just before the onset, float32[C]; zeros where nothing is known of it."""
        if self._before is None or len(self._before) != width:
            past = [row.z for row in self.rows if row.end_s <= self.onset_s - self._window_s][-_BEFORE_WINDOWS:]
            self._before = np.nan_to_num(_mean(past)) if past else np.zeros(width, dtype=np.float32)
        return self._before

    def contrast(self, width: int) -> tuple[Rows, Rows]:
        """What each channel deviates by beyond that: in the mean and at most, float32[C] each; NaN = missing."""
        during = [row.z for row in self.during]
        if not during:
            nothing = np.full(width, np.nan, dtype=np.float32)
            return nothing, nothing
        before, stack = self.before(width), np.stack(during)
        largest = np.abs(np.nan_to_num(stack)).argmax(axis=0)
        return _mean(during) - before, stack[largest, np.arange(width)] - before

    def mean_level(self, median: Rows) -> Rows:
        """The mean of each channel since the onset, float32[C] on the deviation scale; what is missing is as usual."""
        during = [row.x for row in self.during]
        if not during:
            return median
        mean = _mean(during)
        return np.where(np.isnan(mean), median, mean)


def _mean(rows: Sequence[Rows]) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN columns are gaps, and gaps are NaN
        mean: Rows = np.nanmean(np.stack(rows), axis=0)
    return mean


def _finite(cause: Cause) -> bool:
    return all(map(math.isfinite, (cause.typical, cause.actual, cause.deviation)))
