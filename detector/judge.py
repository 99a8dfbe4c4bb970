"""How a host is judged: lengths of time, alarm budget and alarm rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from detector.calibration import MAXIMA_SHARE, Rule
from detector.channels import HOLD_INTERVALS, TIER_INTERVAL_S
from detector.episode import MERGE_S
from detector.fusion import Smoothing
from detector.model import FOLDS
from detector.schedule import LEAST_FREEZE
from detector.training import MOST_ROWS

DAY_S = 86400.0
MAXIMA_PERIOD_S = 60.0
MAXIMA_KEPT_S, LEAST_MAXIMA_KEPT = 7 * DAY_S, 1000
BEFORE_KEPT = 20  # windows before an onset: what an episode's deviations are contrasted with
SETTLING_SHARE, LONGEST_SETTLING_S = 0.15, 20.0  # of a first baseline: who starts to watch a host disturbs it
LEAST_ROWS = 10 * FOLDS
LONGEST_LASTING_S = 300.0
LEAST_WINDOW_LENGTHS = 2 * FOLDS  # of them must remain when a fold and all that overlaps it are left out


@dataclass(frozen=True, slots=True)
class Judge:
    """How to judge; seconds, and alarms per host-day. Scores are smoothed over ``smoothing``.

    What was learned by one is of no use to another.
    """

    window_s: float = 3.0
    stride_s: float = 1.0
    baseline_s: float = 600.0
    warning_per_day: float = 0.5
    page_per_day: float = 0.05
    votes: int = 5
    of: int = 10
    lasting_votes: int = 30
    lasting_of: int = 60
    refit_s: float = 3600.0
    freeze_limit_s: float = 1800.0
    merge_s: float = MERGE_S
    smoothing: Smoothing = field(default=Smoothing())
    octave: int = 0  # of the samples' interval: what is steady over many of them is less so over few
    paper: bool = False
    window_bounds_s: tuple[float, float] | None = field(default=None, repr=False)  # None: a window is as long as it is
    maintained: bool = field(default=False, repr=False)  # somebody works on the host: nothing votes, nothing is learned
    again: bool = field(default=False, repr=False)  # told of before, judged otherwise: no episode is told or counted

    def __post_init__(self) -> None:
        assert 0 < self.stride_s <= self.window_s, "the stride lies between 0 and the window"
        assert 1 <= self.votes <= self.of, "votes lie between 1 and the number of windows that vote"
        assert self.of < self.lasting_votes <= self.lasting_of, "what lasts takes longer than what is sudden"
        shortest_s, longest_s = self.window_bounds_s or (self.window_s, self.window_s)
        assert shortest_s <= self.window_s <= longest_s, "a window that follows its host keeps within its bounds"
        assert self.least_rows <= MOST_ROWS, f"{self.window_s} s every {self.stride_s} s overlap too much"
        assert 0 < self.page_per_day <= self.warning_per_day, "a page is rarer than a warning"

    def since_s(self, end_s: float, windows: int) -> float:
        """Later than this end the windows of the last so many strides up to ``end_s``, fewer where some were lost."""
        return end_s - (windows - 0.5) * self.stride_s

    @property
    def lookback_s(self) -> float:
        """How much of the past a frame must hold: the window and the longest time that a value is held."""
        return self.window_s + HOLD_INTERVALS * max(*TIER_INTERVAL_S.values(), self.stride_s)

    @property
    def maxima_period_s(self) -> float:
        """The stretch of time that gives one largest alarm statistic: as long as the votes that an alarm takes, since
        shorter stretches show one and the same excursion many times, and a budget set on them is never used up."""
        return max(MAXIMA_PERIOD_S, self.votes * self.stride_s)

    @property
    def maxima_kept(self) -> int:
        """Largest alarm statistics that are remembered: a week's, more where these are too few to set a bound on."""
        return max(LEAST_MAXIMA_KEPT, round(MAXIMA_KEPT_S / self.maxima_period_s))

    def rules(self, peers: bool) -> int:
        """How many alarm rules share the budget, of a host that is compared with peers or not."""
        return 1 + (self.lasting is not None) + peers

    def most_per_day(self, peers: bool) -> float:
        """How many alarms a day a budget can ask for: the bound of a larger one lies no lower."""
        return self.rules(peers) * MAXIMA_SHARE * DAY_S / self.maxima_period_s

    def freeze_s(self, known_s: float) -> float:
        """How long an alarm lasts before it is the new normal, on a host that was known for so long before it: it need
        not outlast all that is known of what is normal."""
        return min(self.freeze_limit_s, max(LEAST_FREEZE * self.stride_s, known_s))

    @property
    def settling_s(self) -> float:
        """The beginning of the first baseline that is not learned."""
        return min(LONGEST_SETTLING_S, SETTLING_SHARE * self.baseline_s)

    @property
    def least_rows(self) -> int:
        """Windows that a fit needs."""
        return max(LEAST_ROWS, ceil(LEAST_WINDOW_LENGTHS * self.window_s / self.stride_s))

    @property
    def sizes_kept(self) -> int:
        """Windows whose deviations are remembered: an onset's and what came before it, without overlap."""
        return self.lasting_of + ceil(self.window_s / self.stride_s) + BEFORE_KEPT

    @property
    def sudden(self) -> Rule:
        """The rule for what is far from usual."""
        return Rule(self.votes, self.of, self.warning_per_day, self.page_per_day)

    @property
    def lasting(self) -> Rule | None:
        """The rule for what is less far from usual and stays so; None where so many windows take long: over an hour, a
        healthy host drifts as far (on minutes of servers it trebled the alarms and found hardly more)."""
        if self.lasting_of * self.stride_s > LONGEST_LASTING_S:
            return None
        return Rule(self.lasting_votes, self.lasting_of, self.warning_per_day, self.page_per_day)
