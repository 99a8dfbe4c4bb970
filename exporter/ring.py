"""The ring: the newest samples of each tier as flat rows of doubles, bounded in time and memory.

A row is the time and one value for each series of its schema. Rows lie in chunks; a chunk that is full never changes
again, so that readers may use it while the sampler goes on.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2s
from itertools import chain
from threading import Lock

from catalog.family import Tier
from catalog.series import Series

_LEAST_ROWS, _MOST_ROWS = 8, 64
assert sys.byteorder == "little", "rows are handed out as they lie in memory, and the format is little endian"


@dataclass(frozen=True, eq=False)
class Schema:
    """What the columns of a tier's rows are. ``digest`` names it in the samples API; equal means the same object.

    Rows are ``interval_s`` apart, and at times as little as ``finest_s`` where that is not None.
    """

    tier: Tier
    interval_s: float
    columns: tuple[Series, ...]
    finest_s: float | None = None

    def told(self) -> dict[str, object]:
        """What a reader has to know of its rows, but for the columns."""
        finest = {} if self.finest_s is None else {"finest_s": self.finest_s}
        return {"tier": self.tier, "interval_s": self.interval_s, **finest}

    @property
    def width(self) -> int:
        """Doubles in a row: the time and the values."""
        return 1 + len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns as text."""
        return tuple(map(str, self.columns))

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that depend on the tier, its interval and the columns."""
        text = "\n".join((self.tier, repr(self.interval_s), *self.names))
        return blake2s(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of one schema, oldest first: ``pieces`` one after the other are ``rows`` x ``schema.width`` doubles."""

    schema: Schema
    pieces: tuple[array[float], ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.pieces)) // self.schema.width


@dataclass(slots=True)
class _Run:
    """Consecutive rows of one schema. Chunks are made at their full size; ``filled`` doubles of the last are in use."""

    schema: Schema
    chunks: deque[array[float]] = field(default_factory=deque)
    filled: int = 0

    def append(self, row: Sequence[float]) -> int:
        """Keep a row; returns how many bytes that took from the system."""
        width, taken = self.schema.width, 0
        if not self.chunks or self.filled == len(self.chunks[-1]):
            # Small at first: a layout that changes all the time must not fill the ring with room for rows to come.
            taken = 8 * width * min(_MOST_ROWS, _LEAST_ROWS << len(self.chunks))
            self.chunks.append(array("d", bytes(taken)))
            self.filled = 0
        self.chunks[-1][self.filled : self.filled + width] = array("d", row)
        self.filled += width
        return taken

    def newest(self) -> array[float]:
        """The last row."""
        return self.chunks[-1][self.filled - self.schema.width : self.filled]

    def ends_s(self) -> float:
        """The time of the last row of the first chunk."""
        first = self.chunks[0]
        end = self.filled if len(self.chunks) == 1 else len(first)
        return first[end - self.schema.width]

    def after(self, since_s: float) -> tuple[array[float], ...]:
        """Rows later than a time. Full chunks are shared, the last one is copied."""
        width, pieces = self.schema.width, []
        for chunk in reversed(self.chunks):
            last = chunk is self.chunks[-1]
            end = self.filled if last else len(chunk)
            if chunk[end - width] <= since_s:
                break
            first = bisect_right(chunk[:end:width], since_s) * width
            pieces.append(chunk[first:end] if first or last else chunk)
        return tuple(reversed(pieces))

    def rows(self) -> int:
        """How many there are."""
        return (sum(map(len, self.chunks)) - len(self.chunks[-1]) + self.filled) // self.schema.width


class Ring:
    """Rows of all tiers. ``append`` publishes the rows of one tick together: readers see all of them or none.

    ``max_bytes`` bounds all chunks together, but for the last one of each tier.
    """

    def __init__(self, duration_s: float, max_bytes: int) -> None:
        self._duration_s = duration_s
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = Lock()
        self._runs: dict[Tier, deque[_Run]] = {tier: deque() for tier in Tier}

    def append(self, rows: Iterable[tuple[Schema, Sequence[float]]]) -> None:
        """Publish rows, each with its schema; the first element of a row is its steady time."""
        with self._lock:
            for schema, row in rows:
                assert len(row) == schema.width, f"{len(row)} values in a {schema.tier} row of {schema.width}"
                runs = self._runs[schema.tier]
                if not runs or runs[-1].schema is not schema:
                    runs.append(_Run(schema))
                self._bytes += runs[-1].append(row)
                self._evict(runs, row[0] - self._duration_s)
            while self._bytes > self._max_bytes and (fattest := self._oldest()):
                self._drop(fattest)

    def _evict(self, runs: deque[_Run], horizon_s: float) -> None:
        while (len(runs) > 1 or len(runs[0].chunks) > 1) and runs[0].ends_s() < horizon_s:
            self._drop(runs)

    def _drop(self, runs: deque[_Run]) -> None:
        self._bytes -= 8 * len(runs[0].chunks.popleft())
        if not runs[0].chunks:
            runs.popleft()

    def _oldest(self) -> deque[_Run] | None:
        """The tier whose oldest chunk is oldest of all, among those that have more than one."""
        spare = [runs for runs in self._runs.values() if len(runs) > 1 or (runs and len(runs[0].chunks) > 1)]
        return min(spare, key=lambda runs: runs[0].ends_s(), default=None)

    def newest(self) -> list[tuple[Schema, array[float]]]:
        """The newest row of each tier that has any."""
        with self._lock:
            last = [runs[-1] for runs in self._runs.values() if runs]
            return [(run.schema, run.newest()) for run in last]

    def since(self, since_s: float) -> list[Segment]:
        """All rows later than a time, by tier and then by age."""
        with self._lock:
            runs = chain.from_iterable(self._runs.values())
            segments = [Segment(run.schema, run.after(since_s)) for run in runs]
        return [segment for segment in segments if segment.pieces]

    def rows(self, tier: Tier) -> int:
        """How many rows a tier holds."""
        return sum(run.rows() for run in self._runs[tier])
