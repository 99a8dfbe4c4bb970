"""Training memory: a bounded sample of a host's past windows, in blocks that follow each other.

Blocks, not single windows, because calibration needs stretches of time. Windows of an episode are in blocks of their
own, which say so: what came again and again is known to the detectors, but is no measure of how far a healthy host
strays. Blocks cover the last day, or the last ten times what they hold, evenly: what happens rarely is among them, and
the baseline follows the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from detector.frame import Floats

BLOCK_ROWS = 50
MOST_BLOCKS = 20
MOST_ROWS = BLOCK_ROWS * MOST_BLOCKS
MOST_VALUES, MOST_TIMES = 200 * MOST_ROWS, 5  # fewer features: more windows, and so many times more at most
FULL_ROWS = MOST_ROWS * 3 // 4  # blocks that new devices cut short must not make a full memory look like a young one
HORIZON_S, HORIZON_MEMORIES = 86400.0, 10
LEAST_CALM = 4  # blocks of a healthy host to one of an episode

Float32s = npt.NDArray[np.float32]
Rows = tuple[tuple[float, Float32s], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Windows in order of time, lost ones left out: ends float64[n], features float32[n, F], ``names``, and whether an
    alarm was raised while they were."""

    end_s: Floats
    x: Float32s
    names: tuple[str, ...]
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Training:
    """Completed ``blocks`` and the one being filled."""

    blocks: tuple[Block, ...] = ()
    filling: Rows = ()
    names: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Windows held."""
        return sum(len(block.end_s) for block in self.blocks) + len(self.filling)

    @property
    def calm_rows(self) -> int:
        """Those of them that are of no episode."""
        return self.rows - sum(len(block.end_s) for block in self.blocks if block.flagged)

    @property
    def oldest_s(self) -> float:
        """End of the oldest window; NaN where none is held."""
        firsts = [float(block.end_s[0]) for block in self.blocks] + [end_s for end_s, _ in self.filling[:1]]
        return min(firsts, default=np.nan)

    @property
    def most_blocks(self) -> int:
        """How many blocks are kept of a host with so many known features."""
        known = int((~np.isnan(self.blocks[-1].x)).any(axis=0).sum()) if self.blocks else MOST_VALUES
        by_values = MOST_VALUES // (BLOCK_ROWS * max(1, known))
        return max(MOST_BLOCKS, min(by_values, MOST_TIMES * MOST_BLOCKS))

    def add(self, end_s: float, x: Float32s, names: tuple[str, ...], stride_s: float) -> Training:
        """With one more window; other features start a new block."""
        state = self
        if self.filling and names != self.names:
            state = state._complete(stride_s)
        state = replace(state, filling=(*state.filling, (end_s, x)), names=names)
        return state._complete(stride_s) if len(state.filling) >= BLOCK_ROWS else state

    def add_flagged(self, rows: Rows, names: tuple[str, ...], stride_s: float) -> Training:
        """With the windows of an episode."""
        state = self._complete(stride_s) if self.filling else self
        for start in range(0, len(rows), BLOCK_ROWS):
            block = _block(rows[start : start + BLOCK_ROWS], names, flagged=True)
            state = replace(state, blocks=(*state.blocks, block))._forget(stride_s)
        return state

    def _complete(self, stride_s: float) -> Training:
        return replace(self, blocks=(*self.blocks, _block(self.filling, self.names)), filling=())._forget(stride_s)

    def _forget(self, stride_s: float) -> Training:
        most = self.most_blocks
        horizon_s = max(HORIZON_S, HORIZON_MEMORIES * most * BLOCK_ROWS * stride_s)
        blocks = self.blocks
        flagged = [number for number, block in enumerate(blocks) if block.flagged]
        if len(flagged) > most // (LEAST_CALM + 1):
            blocks = blocks[: flagged[0]] + blocks[flagged[0] + 1 :]
        while len(blocks) > most:
            victim = _superfluous(np.array([block.end_s[0] for block in blocks]), horizon_s)
            blocks = blocks[:victim] + blocks[victim + 1 :]
        return replace(self, blocks=blocks)

    def table(self) -> tuple[Floats, Floats, tuple[str, ...]]:
        """All windows in order of time: ends float64[N], features float64[N, F], and the newest names.

        Older blocks with other features are aligned by name; what they lack is NaN.
        """
        blocks = self._ordered()
        if not blocks:
            return np.empty(0), np.empty((0, 0)), ()
        names = blocks[-1].names
        x = np.concatenate([align(block.x.astype(np.float64), block.names, names) for block in blocks])
        return np.concatenate([block.end_s for block in blocks]), x, names

    def flagged(self) -> npt.NDArray[np.bool_]:
        """Which windows of the table are of episodes, bool[N]."""
        parts = [np.full(len(block.end_s), block.flagged) for block in self._ordered()]
        return np.concatenate([np.empty(0, dtype=bool), *parts])

    def _ordered(self) -> tuple[Block, ...]:
        blocks = self.blocks if not self.filling else (*self.blocks, _block(self.filling, self.names))
        return tuple(sorted(blocks, key=lambda block: float(block.end_s[0])))


def _superfluous(start_s: Floats, horizon_s: float) -> int:
    """Which of the blocks that began at ``start_s`` float64[N], in order of time, is missed least: one that is too old,
    or the one whose neighbours are nearest to each other."""
    if start_s[-1] - start_s[0] > horizon_s:
        return 0
    return int(np.argmin(start_s[2:] - start_s[:-2])) + 1


def _block(rows: Rows, names: tuple[str, ...], *, flagged: bool = False) -> Block:
    return Block(np.array([end_s for end_s, _ in rows]), np.stack([x for _, x in rows]), names, flagged)


def align(x: Floats, names: tuple[str, ...], wanted: tuple[str, ...]) -> Floats:
    """Columns of ``x`` [N, F] under ``names`` reordered to ``wanted``; those not there are NaN."""
    if names == wanted:
        return x
    index = {name: column for column, name in enumerate(names)}
    columns = np.array([index.get(name, -1) for name in wanted], dtype=np.intp)
    padded = np.concatenate([x, np.full((len(x), 1), np.nan)], axis=1)
    return padded[:, columns]
