"""Episodes: when single windows over the bound become an alarm, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass, replace

from detector.attribution import UNKNOWN

CLOSE_AT = 0.7  # hysteresis
MERGE_S = 60.0  # an episode of the same subsystem that closed so recently is resumed, with its onset


@dataclass(frozen=True, slots=True)
class Episode:
    """``level`` is the alarm statistic that decides; times in seconds since the epoch, NaN when there is none."""

    open: bool = False
    page: bool = False
    onset_s: float = float("nan")
    closed_s: float = float("nan")
    subsystem: str = ""

    def opens(self, level: float) -> bool:
        """Whether this level of the alarm statistic opens a closed episode."""
        return not self.open and level > 1.0

    def is_near(self, end_s: float, merge_s: float) -> bool:
        """Whether it closed so recently that an opening at ``end_s`` may continue it."""
        return end_s - self.closed_s <= merge_s  # False while closed_s is NaN

    def resumes(self, end_s: float, subsystem: str, merge_s: float) -> bool:
        """Whether an opening at ``end_s`` that is blamed on ``subsystem`` continues it."""
        return self.is_near(end_s, merge_s) and self.subsystem in (subsystem, UNKNOWN)


def advance(
    episode: Episode,
    level: float,
    pages: bool,
    end_s: float,
    onset_s: float,
    subsystem: str,
    merge_s: float,
) -> Episode:
    """The episode after one more window. ``onset_s`` and ``subsystem`` are what an episode opening now would have."""
    if episode.open:
        if level < CLOSE_AT:
            return replace(episode, open=False, page=False, closed_s=end_s)
        return replace(episode, page=episode.page or pages)
    if not episode.opens(level):
        return episode
    if episode.resumes(end_s, subsystem, merge_s):
        return replace(episode, open=True, page=pages, closed_s=float("nan"), subsystem=subsystem)
    return Episode(True, pages, onset_s, float("nan"), subsystem)
