"""Steps: how a window is judged of each host that was read; peers are shown each other's before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from detector.company import ALONE, Company, gather
from detector.features import Features
from detector.frame import Frame
from detector.judge import Judge
from detector.state import HostState
from detector.trainer import Judging
from detector.verdict import Verdict
from detector.watch import Batch, Step, Watch

_ENDS_KEPT = 10
Key = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Piece:
    """One window of a host to be judged: what it was read from, and, of a host that has a group, its features."""

    watch: Watch
    batch: Batch
    end_s: float
    frame: Frame
    judge_by: Judge
    window: Features | None

    def step(self, judging: Judging, company: Company) -> Step:
        """The judging that is to be done."""
        if self.window is None:
            return partial(_alone, judging, self.frame, self.end_s, self.judge_by)
        return partial(_among, judging, self.window, self.judge_by, company)


def piece_of(watch: Watch, batch: Batch, end_s: float, judging: Judging, maintained: bool) -> Piece:
    """The window of a host that ends at ``end_s``."""
    assert watch.judge is not None, "a host whose window is there has a judge"
    assert batch.frame is not None, "a batch with windows has a frame"
    judge_by = replace(watch.judge, maintained=maintained, again=end_s <= watch.told_s)
    frame = _cut(batch.frame, end_s - judge_by.lookback_s, end_s)
    window = judging.features(frame, end_s, judge_by) if key_of(watch) else None
    return Piece(watch, batch, end_s, frame, judge_by, window)


def key_of(watch: Watch) -> Key | None:
    """Who is compared with whom: a group's hosts with windows of the same length and stride; None without a group."""
    if not watch.host.peer or watch.judge is None:
        return None
    return watch.host.peer, watch.judge.window_s, watch.judge.stride_s


@dataclass(slots=True)
class Companies:
    """Remembers the newest windows of each group, so that a host that is read late still finds its peers' there."""

    _boards: dict[Key, dict[str, dict[float, Features]]] = field(default_factory=dict)

    def of(self, pieces: Sequence[Piece], end_s: float, watches: Iterable[Watch]) -> Company:
        """The company of ``pieces``, all of one group, among all ``watches``, in the window that ends at ``end_s``.

        Who is worked on is not compared with.
        """
        key = key_of(pieces[0].watch) if pieces else None
        if key is None:
            return ALONE
        group = [watch for watch in watches if key_of(watch) == key]
        board = self._boards.setdefault(key, {})
        for gone in board.keys() - {watch.host.instance for watch in group}:
            del board[gone]
        for piece in pieces:
            if piece.window is not None:
                own = board.setdefault(piece.watch.host.instance, {})
                own[end_s] = piece.window
                # Of each host the first that came: a clock that is ahead, or a host that catches up, costs no other's.
                if len(own) > _ENDS_KEPT:
                    del own[next(iter(own))]
        here = {instance: own[end_s] for instance, own in board.items() if end_s in own}
        flagged = frozenset(watch.host.instance for watch in group if watch.state.episode.open)
        worked_on = frozenset(piece.watch.host.instance for piece in pieces if piece.judge_by.maintained)
        return gather(key[0], here, flagged, len(group), worked_on)

    def keep(self, keys: Iterable[Key | None]) -> None:
        """Forget the groups that are not among these."""
        for gone in self._boards.keys() - set(keys):
            del self._boards[gone]


def _alone(judging: Judging, part: Frame, end_s: float, judge: Judge, state: HostState) -> tuple[HostState, Verdict]:
    return judging.step(part, state, end_s, judge)


def _among(
    judging: Judging, window: Features, judge: Judge, company: Company, state: HostState
) -> tuple[HostState, Verdict]:
    return judging.among(window, state, judge, company)


def _cut(frame: Frame, start_s: float, end_s: float) -> Frame:
    """The rows in (start_s, end_s]."""
    first, last = frame.times_s.searchsorted((start_s, end_s), side="right")
    if first == 0 and last == len(frame.times_s):
        return frame
    return Frame(frame.instance, frame.times_s[first:last], frame.values[first:last], frame.columns)
