"""The recent samples of one host, bounded in time: several lanes that are sampled apart, put onto one time axis.

A lane is what shares its sample times: a tier. Times that are equal in two lanes become one row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from catalog.series import Series
from detector.frame import Floats, Frame

Columns = tuple[Series, ...]

_SMALL_ROWS = 64  # chunks smaller than that grow; a frame is made chunk by chunk


@dataclass(frozen=True, slots=True)
class _Chunk:
    times_s: Floats
    values: Floats
    columns: Columns


class Buffer:
    """Chunks of samples by lane. Columns may differ from chunk to chunk: a frame has the union of them."""

    def __init__(self, keep_s: float) -> None:
        assert keep_s > 0, "a buffer keeps something"
        self._keep_s = keep_s
        self._lanes: dict[str, deque[_Chunk]] = {}
        self._layout: tuple[Columns, dict[int, npt.NDArray[np.intp]]] = ((), {})
        self._layout_of: tuple[Columns, ...] = ()

    def add(self, lane: str, columns: Columns, times_s: Floats, values: Floats) -> None:
        """Append samples, times_s float64[T] increasing, values float64[T, S].

        Rows that the lane has from ``times_s[0]`` on are replaced: what was read last is more complete.
        """
        assert values.shape == (len(times_s), len(columns)), f"{values.shape} values for {len(columns)} columns"
        chunks = self._lanes.setdefault(lane, deque())
        if len(times_s):
            assert np.all(np.diff(times_s) > 0), f"times of lane {lane} must increase"
            _drop_from(chunks, float(times_s[0]))
            finite = np.where(np.isfinite(values), values, np.nan)
            if chunks and chunks[-1].columns is columns and len(chunks[-1].times_s) < _SMALL_ROWS:
                last = chunks.pop()
                times_s, finite = np.concatenate([last.times_s, times_s]), np.concatenate([last.values, finite])
            # A copy, as what comes in is a view of a whole answer.
            chunks.append(_Chunk(times_s.copy(), finite, columns))
        self.forget(self.newest_s() - self._keep_s)

    def newest_s(self, lane: str | None = None) -> float:
        """Time of the newest sample, of one lane or of all; NaN without any."""
        lanes = self._lanes.values() if lane is None else [self._lanes.get(lane, deque[_Chunk]())]
        return max((float(chunks[-1].times_s[-1]) for chunks in lanes if chunks), default=float("nan"))

    def oldest_s(self) -> float:
        """Time of the oldest sample; NaN without any."""
        return min((float(chunks[0].times_s[0]) for chunks in self._lanes.values() if chunks), default=float("nan"))

    def frame(self, instance: str, start_s: float, end_s: float) -> Frame:
        """The samples in (start_s, end_s]. Each lane's newest columns are there even when they have no sample then."""
        wanted = [chunk for chunks in self._lanes.values() for chunk in _within(chunks, start_s, end_s)]
        newest = [chunks[-1] for chunks in self._lanes.values() if chunks]
        columns, places = self._columns(chunk.columns for chunk in (*wanted, *newest))
        cuts = [slice(*np.searchsorted(chunk.times_s, (start_s, end_s), side="right")) for chunk in wanted]
        parts = [chunk.times_s[cut] for chunk, cut in zip(wanted, cuts, strict=True)]
        times_s = np.unique(np.concatenate(parts)) if parts else np.empty(0)
        values = np.full((len(times_s), len(columns)), np.nan)
        for chunk, cut in zip(wanted, cuts, strict=True):
            rows = np.searchsorted(times_s, chunk.times_s[cut])
            values[rows[:, None], places[id(chunk.columns)]] = chunk.values[cut]
        return Frame(instance, times_s, values, columns)

    def _columns(self, present: Iterable[Columns]) -> tuple[Columns, dict[int, npt.NDArray[np.intp]]]:
        """Union of columns and the place of each; the same objects again while nothing changes."""
        distinct = {id(columns): columns for columns in present}
        key = tuple(distinct.values())
        if not (len(key) == len(self._layout_of) and all(a is b for a, b in zip(key, self._layout_of, strict=True))):
            index: dict[Series, int] = {}
            for columns in key:
                for series in columns:
                    index.setdefault(series, len(index))
            places = {id(columns): np.array([index[series] for series in columns], dtype=np.intp) for columns in key}
            union = tuple(index)
            self._layout = (self._layout[0] if union == self._layout[0] else union, places)
            self._layout_of = key
        return self._layout

    def forget(self, before_s: float) -> None:
        """Give up samples that are older, as far as whole chunks are; each lane keeps its newest."""
        for chunks in self._lanes.values():
            while len(chunks) > 1 and chunks[0].times_s[-1] < before_s:
                chunks.popleft()


def _within(chunks: deque[_Chunk], start_s: float, end_s: float) -> Iterable[_Chunk]:
    """Chunks with a row in (start_s, end_s], newest first."""
    for chunk in reversed(chunks):
        if chunk.times_s[-1] <= start_s:
            return
        if chunk.times_s[0] <= end_s:
            yield chunk


def _drop_from(chunks: deque[_Chunk], start_s: float) -> None:
    """Take away the rows from ``start_s`` on."""
    while chunks and chunks[-1].times_s[-1] >= start_s:
        last = chunks.pop()
        kept = int(np.searchsorted(last.times_s, start_s))
        if kept:
            chunks.append(_Chunk(last.times_s[:kept], last.values[:kept], last.columns))
            return
